// The vocabulary that a GGUF file's metadata (tokenizer.ggml.*) describes.
#pragma once

#include "shardwise/base/result.h"
#include "shardwise/file/metadata.h"
#include "shardwise/text/vocabulary.h"

namespace shardwise {

Result<Vocabulary> vocabulary_from_metadata(const Metadata& metadata);

}  // namespace shardwise
