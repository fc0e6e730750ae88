// The forward pass of a model as a program: one rank's, until shard() cuts it.
#pragma once

#include "shardwise/model/spec.h"
#include "shardwise/program/program.h"

namespace shardwise {

// The type of cache rows.
enum class CacheFormat : uint8_t { F32, F16 };

// The program of one step for a batch of that shape. The rows of its cache that it reads are the S of the shape; what
// the file calls its tensors stands in the weights' `tensor`.
Program forward(const ModelSpec&, const BatchShape&, CacheFormat = CacheFormat::F16);

}  // namespace shardwise
