// Opening a model and starting its ranks, with progress for who watches.
#include "apps/model.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "apps/terminal.h"

namespace shardwise {

Result<std::unique_ptr<Model>> open_model(const std::string& path) {
  auto file = ModelFile::open(path);
  if (!file) return file.error();
  auto spec = read_spec(*file);
  if (!spec) return spec.error();
  auto tokenizer = read_tokenizer(*file);
  if (!tokenizer) return tokenizer.error();
  return std::unique_ptr<Model>(new Model{std::move(*file), std::move(*spec), std::move(*tokenizer)});
}

Result<std::string> read_text(const std::string& path, std::string_view way_out) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  for (std::array<char, 1 << 16> part; in.read(part.data(), part.size()), in.gcount() > 0;)
    text.append(part.data(), size_t(in.gcount()));
  if (!in.is_open() || in.bad()) return fail("{}: can not be read; {}", path, way_out);
  return text;
}

Result<Plan> resolve_plan(const std::string& text) { return parse_plan(text == "auto" ? "none" : text); }

Result<std::unique_ptr<Engine>> start_engine(const Model& model, const Plan& plan, const RunFlags& flags, int sequences,
                                             int64_t context) {
  if (flags.cache != "f16" && flags.cache != "f32") return fail("--cache {}: expected f16 or f32", flags.cache);
  const int cores = int(usable_cores().size()), ranks = plan.mesh.ranks();
  EngineOptions o;
  o.plan = plan;
  o.threads = flags.threads > 0 ? flags.threads : std::max(1, cores / ranks);
  o.sequences = sequences, o.context = context;
  o.cache = flags.cache == "f32" ? CacheFormat::F32 : CacheFormat::F16;
  ProgressBar bar("loading");
  o.progress = [&](double done) { bar.show(done); };
  return Engine::start(model.file, model.spec, std::move(o));
}

}  // namespace shardwise
