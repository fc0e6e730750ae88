// Models that route tokens to experts are not supported yet: they are refused by name before anything is loaded.
#include <gtest/gtest.h>

#include "tests/support/random_model.h"

namespace shardwise {
namespace {

TEST(Experts, S08_AreRefusedByName) {
  const ScratchFolder folder;
  write_random_model({.experts = 4}, folder.file("m.gguf"));
  const auto file = ModelFile::open(folder.file("m.gguf"));
  ASSERT_TRUE(file) << file.error().what;
  const auto spec = read_spec(*file);
  ASSERT_FALSE(spec);
  EXPECT_NE(spec.error().what.find("experts"), std::string::npos) << spec.error().what;
  EXPECT_NE(spec.error().what.find("m.gguf"), std::string::npos) << spec.error().what;
}

}  // namespace
}  // namespace shardwise
