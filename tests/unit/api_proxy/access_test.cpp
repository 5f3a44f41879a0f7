// Exposed paths, API keys, presented keys.
#include "api/proxy/access.hpp"

#include <gtest/gtest.h>

#include "daemon/base/sha256.hpp"

namespace k3d::proxy {
namespace {

TEST(Exposed, inference_only) {
  for (const char* path : {"/v1/chat/completions", "/v1/models", "/completion", "/completions", "/chat/completions",
                           "/infill", "/embedding", "/embeddings", "/rerank", "/reranking", "/tokenize", "/detokenize",
                           "/apply-template", "/health", "/models"}) {
    EXPECT_TRUE(exposed(Expose::inference, "POST", path)) << path;
  }
  for (const char* path : {"/slots", "/metrics", "/lora-adapters", "/", "/v1", "/V1/models", "/api/v1/status",
                           "/completion/x", "/slots/0", "/index.html", "/models/load", "/health/"}) {
    EXPECT_FALSE(exposed(Expose::inference, "GET", path)) << path;
    EXPECT_TRUE(exposed(Expose::all, "GET", path)) << path;
  }
  EXPECT_TRUE(exposed(Expose::inference, "GET", "/props"));
  EXPECT_FALSE(exposed(Expose::inference, "POST", "/props"));
  EXPECT_TRUE(exposed(Expose::all, "POST", "/props"));
}

TEST(ApiKeys, lines) {
  const std::string digest = sha256_hex("sk-one");
  std::string upper = sha256_hex("sk-two");
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  const auto keys = ApiKeys::parse("# people\n\nalice " + digest + "\n  bob\t" + upper + "  \r\n", "/etc/k3d/api-keys");
  ASSERT_TRUE(keys.has_value()) << keys.error().text();
  EXPECT_EQ(keys->size(), 2U);
  EXPECT_EQ(keys->name_of("sk-one"), "alice");
  EXPECT_EQ(keys->name_of("sk-two"), "bob");
  EXPECT_EQ(keys->name_of("sk-three"), std::nullopt);
  EXPECT_EQ(keys->name_of(""), std::nullopt);
  EXPECT_EQ(keys->name_of(digest), std::nullopt) << "the file's content opens nothing";
}

TEST(ApiKeys, the_digest_of_nothing_is_no_key) {
  EXPECT_EQ(ApiKeys::parse("nobody " + sha256_hex(""), "f")->name_of(""), std::nullopt);
}

TEST(ApiKeys, mistakes_name_their_line) {
  for (const char* line : {"alice", "alice 1234", "alice sk-plain-key", "alice\n", "a b c"}) {
    const auto keys = ApiKeys::parse("# one\n" + std::string(line), "/etc/k3d/api-keys");
    ASSERT_FALSE(keys.has_value()) << line;
    EXPECT_EQ(keys.error().code, Code::config_invalid);
    EXPECT_NE(keys.error().message.find("/etc/k3d/api-keys:2"), std::string::npos) << keys.error().message;
    EXPECT_EQ(keys.error().text().find("sk-plain-key"), std::string::npos) << "a key by mistake is not repeated (F96)";
  }
}

TEST(PresentedKey, either_way) {
  EXPECT_EQ(presented_key("Bearer sk-one", ""), "sk-one");
  EXPECT_EQ(presented_key("bearer sk-one", "other"), "sk-one");
  EXPECT_EQ(presented_key("", "sk-two"), "sk-two");
  EXPECT_EQ(presented_key("Basic abc", "sk-two"), "sk-two");
  EXPECT_EQ(presented_key("Basic abc", ""), "");
  EXPECT_EQ(presented_key("Bearer ", ""), "");
}

}  // namespace
}  // namespace k3d::proxy
