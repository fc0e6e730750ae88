// What commands say of a run: the JSON keys of the contract, and the same for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "shardwise/engine/generate.h"

namespace shardwise {

// plan, ranks, weight_bytes, cache_bytes, peak_bytes, wire_bytes_per_token.
nlohmann::ordered_json report(Engine&);

// ttft_ms, tpot_ms, prefill_tps, decode_tps.
void add_times(nlohmann::ordered_json&, const GenerationTimes&, int sequences);

// Memory of this process that is its own (not the model file's pages), in bytes.
int64_t private_bytes();

// Bytes that all ranks together send for one token of a sequence that has `past` tokens in the cache.
double wire_bytes_per_token(Engine&, int64_t past);

std::string hex(uint64_t);

}  // namespace shardwise
