// A model as commands use it: its file, its spec and its text side, opened and checked.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "shardwise/engine/engine.h"
#include "shardwise/engine/language.h"

namespace shardwise {

struct Model {
  ModelFile file;
  ModelSpec spec;
  Tokenizer tokenizer;
};
Result<std::unique_ptr<Model>> open_model(const std::string& path);

// A file that a command is given, whole. `way_out` ends the sentence when it can not be read.
Result<std::string> read_text(const std::string& path, std::string_view way_out);

// What commands that run a model have in common.
struct RunFlags {
  std::string model, plan = "auto", cache = "f16";
  int threads = 0;  // of each rank; 0: share the cores
  bool json = false;
};

// The plan that the text names. "auto" is one rank: this machine's memory holds what its own file system serves.
Result<Plan> resolve_plan(const std::string& text);

// Starts the engine, with a progress bar on a terminal.
Result<std::unique_ptr<Engine>> start_engine(const Model&, const Plan&, const RunFlags&, int sequences,
                                             int64_t context);

}  // namespace shardwise
