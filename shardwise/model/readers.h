// The two readers of ModelSpec, by file format; read_spec() picks one.
#pragma once

#include "shardwise/model/spec.h"

namespace shardwise {

Result<ModelSpec> read_gguf_spec(const ModelFile&);
Result<ModelSpec> read_hugging_face_spec(const ModelFile&);

}  // namespace shardwise
