// shardwise: runs a transformer on several devices, cut in the least way that does the job, and shows why.
// Exit status: 0 done, 1 refused or failed with one sentence, 2 wrong usage.
#include <fmt/format.h>

#include "apps/commands.h"

int main(int argc, char** argv) {
  using namespace shardwise;
  CLI::App app("Runs a transformer on several devices, cut in the least way that does the job, and shows why.",
               "shardwise");
  app.require_subcommand(1);
  Action action;
  for (auto add : {add_run, add_compare, add_explain, add_bench, add_perplexity, add_inspect, add_tokenize})
    add(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (const Status done = action(); !done) {
    fmt::print(stderr, "shardwise: {}\n", done.error().what);
    return 1;
  }
  return 0;
}
