#include "daemon/base/ids.hpp"

#include <gtest/gtest.h>

#include "daemon/base/secret.hpp"

namespace k3d {
namespace {

TEST(Names, F91_names_are_safe_path_parts) {
  for (const char* good : {"batch", "UD-Q2_K_XL", "a.b", "0"}) EXPECT_TRUE(is_name(good)) << good;
  for (const char* bad : {"", "../../etc", "a/b", "-x", ".x", "a..b", "a b", "%2e%2e", "a\n", "ä"}) {
    EXPECT_FALSE(is_name(bad)) << bad;
  }
  EXPECT_FALSE(is_name(std::string(300, 'a')));
  EXPECT_FALSE(is_name(std::string("a\0b", 3)));
}

TEST(Names, F93_repositories_are_owner_and_name) {
  EXPECT_TRUE(is_repo_id("unsloth/Kimi-K3-GGUF"));
  for (const char* bad : {"", "x", "https://evil/x", "a/b/c", "a/../b", "user@host/x", "a/", "/b", "[::1]/x"}) {
    EXPECT_FALSE(is_repo_id(bad)) << bad;
  }
}

TEST(Names, commits_are_forty_hex_digits) {
  EXPECT_TRUE(is_commit("883f2c9ba78f3847148454adf025da29385fff3e"));
  EXPECT_FALSE(is_commit("883f2c9"));
  EXPECT_FALSE(is_commit("883F2C9BA78F3847148454ADF025DA29385FFF3E"));
}

TEST(Secrets, match_only_themselves) {
  EXPECT_TRUE(Secret("s3cret").matches("s3cret"));
  EXPECT_FALSE(Secret("s3cret").matches("s3cre"));
  EXPECT_FALSE(Secret("").matches(""));
  EXPECT_EQ(random_hex(16).size(), 32U);
  EXPECT_NE(random_hex(16), random_hex(16));
}

}  // namespace
}  // namespace k3d
