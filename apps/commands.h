// The commands. Each adds itself to the command line; its callback gives the exit status or the one sentence why not.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "shardwise/base/result.h"

namespace shardwise {

// What the chosen command does, once the command line is read.
using Action = std::function<Status()>;

struct RunFlags;
void add_run_flags(CLI::App&, RunFlags&);  // MODEL, --plan, --threads, --cache, --json

void add_run(CLI::App&, Action&);
void add_compare(CLI::App&, Action&);
void add_explain(CLI::App&, Action&);
void add_bench(CLI::App&, Action&);
void add_perplexity(CLI::App&, Action&);
void add_inspect(CLI::App&, Action&);
void add_tokenize(CLI::App&, Action&);

}  // namespace shardwise
