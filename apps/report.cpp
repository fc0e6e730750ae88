// Figures for reports, measured where they can be.
#include "apps/report.h"

#include <fmt/format.h>

#include <fstream>

#include "shardwise/program/traffic.h"

namespace shardwise {

int64_t private_bytes() {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;)
    if (word == "RssAnon:") {
      int64_t kib = 0;
      in >> kib;
      return kib * 1024;
    }
  return 0;
}

double wire_bytes_per_token(Engine& engine, int64_t past) {
  BatchShape decode;
  decode.chunks.assign(size_t(engine.sequences()), {0, 0, 0});
  decode.chunks[0] = {past, 1, 1};
  const Program& p = engine.program(decode);
  double bytes = 0;
  for (int rank = 0; rank < p.mesh.ranks(); ++rank) bytes += sent_bytes(p, rank);
  return bytes;
}

nlohmann::ordered_json report(Engine& engine) {
  nlohmann::ordered_json j;
  j["plan"] = engine.plan().text;
  j["ranks"] = engine.mesh().ranks();
  j["threads"] = engine.threads();
  j["weight_bytes"] = engine.weight_bytes();
  j["cache_bytes"] = engine.cache_bytes();
  j["peak_bytes"] = private_bytes();
  j["wire_bytes_per_token"] = wire_bytes_per_token(engine, engine.length(0));
  return j;
}

void add_times(nlohmann::ordered_json& j, const GenerationTimes& t, int sequences) {
  j["ttft_ms"] = t.ttft_s * 1e3;
  j["tpot_ms"] = t.tpot_s(sequences) * 1e3;
  j["prefill_tps"] = t.prefill_tps();
  j["decode_tps"] = t.decode_tps();
}

std::string hex(uint64_t x) { return fmt::format("{:016x}", x); }

}  // namespace shardwise
