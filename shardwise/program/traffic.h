// What a program sends.
#pragma once

#include "shardwise/program/program.h"

namespace shardwise {

// Bytes that a rank sends in one run of the program, by the ring algorithms that wire_bytes() counts. Rows of the cache
// count as the program's S says.
double sent_bytes(const Program&, int rank);
double sent_bytes(const Program&, const Step&, int rank);

}  // namespace shardwise
