// Names of split models.
#include "daemon/base/shard_name.hpp"

#include <gtest/gtest.h>

namespace k3d {
namespace {

TEST(ShardName, parts_and_back) {
  const auto shard = parse_shard_name("Kimi-K3-UD-Q2_K_XL-00002-of-00019.gguf");
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->prefix, "Kimi-K3-UD-Q2_K_XL");
  EXPECT_EQ(shard->number, 2);
  EXPECT_EQ(shard->count, 19);
  EXPECT_EQ(shard_name(*shard), "Kimi-K3-UD-Q2_K_XL-00002-of-00019.gguf");
  EXPECT_EQ(parse_shard_name("a-00001-of-00001.gguf")->count, 1);
}

TEST(ShardName, others) {
  for (const char* name : {"", "tiny.gguf", "-00001-of-00002.gguf", "a-0001-of-0002.gguf", "a-00000-of-00002.gguf",
                           "a-00003-of-00002.gguf", "a-00001-of-00002.gguf.incomplete", "a-00001_of_00002.gguf",
                           "a--0001-of-00002.gguf", "a-00001-of-0000x.gguf", "a-+0001-of-00002.gguf"}) {
    EXPECT_FALSE(parse_shard_name(name)) << name;
  }
}

}  // namespace
}  // namespace k3d
