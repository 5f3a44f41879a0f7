// The top-level "model" of a body, and nothing else that looks like it.
#include "api/proxy/model_name.hpp"

#include <gtest/gtest.h>

namespace k3d::proxy {
namespace {

std::optional<std::string> model(std::string_view body) {
  return find_model(body).model;
}

TEST(FindModel, at_the_top) {
  EXPECT_EQ(model(R"({"model":"a"})"), "a");
  EXPECT_EQ(model(" \n{ \"stream\" : true , \"model\" :\t\"a b\" , \"x\": 1}"), "a b");
  EXPECT_EQ(model(R"({"messages":[{"role":"user","content":"hi"}],"n":1.5e3,"t":null,"model":"last"})"), "last");
  EXPECT_EQ(model(R"({"model":"first","model":"second"})"), "first");
}

TEST(FindModel, not_what_looks_like_it) {
  EXPECT_EQ(model(R"({"a":{"model":"nested"}})"), std::nullopt);
  EXPECT_EQ(model(R"({"a":[{"model":"nested"}],"model":"top"})"), "top");
  EXPECT_EQ(model(R"({"prompt":"say \"model\":\"x\"","model":"top"})"), "top");
  EXPECT_EQ(model(R"({"prompt":"}],\\","model":"top"})"), "top");
  EXPECT_EQ(model(R"({"prompt":"\"model\": \"x\""})"), std::nullopt);
  EXPECT_EQ(model(R"({"x":"model","y":"z"})"), std::nullopt);
  EXPECT_EQ(model(R"([{"model":"x"}])"), std::nullopt);
  EXPECT_EQ(model(R"({"model":7})"), std::nullopt);
  EXPECT_EQ(model(R"({"model":{"model":"x"}})"), std::nullopt);
  EXPECT_EQ(model(R"({"Model":"x"})"), std::nullopt);
}

TEST(FindModel, escapes) {
  EXPECT_EQ(model(R"({"mo\u0064el":"a\u0062\/\"c\\"})"), "ab/\"c\\");
  EXPECT_EQ(model(R"({"model":"\ud83d\ude00"})"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(model(R"({"model":"\q"})"), std::nullopt);
  EXPECT_EQ(model("{\"model\":\"\xff\"}"), std::nullopt);
}

TEST(FindModel, decides_as_early_as_it_can) {
  const std::string body = R"({"messages":[{"content":"}\"{"}],"model":"a","rest":"...)";
  const std::size_t enough = body.find("\"a\"") + 3;
  for (std::size_t n = 0; n < enough; ++n) EXPECT_FALSE(find_model(std::string_view(body).substr(0, n)).decided) << n;
  const ModelSearch found = find_model(std::string_view(body).substr(0, enough));
  EXPECT_TRUE(found.decided);
  EXPECT_EQ(found.model, "a");
  for (const char* other : {"x", "[", "\"", "1", "{x", "{\"a\" 1", "{}", "{,}", "{\"a\":1}", "\x01"}) {
    EXPECT_TRUE(find_model(other).decided) << other;
  }
}

TEST(FindModel, looks_no_further_than_its_window) {
  std::string body = "{\"prompt\":\"" + std::string(kModelWindow, 'x') + "\",\"model\":\"late\"}";
  const ModelSearch search = find_model(body);
  EXPECT_TRUE(search.decided);
  EXPECT_EQ(search.model, std::nullopt);
  body = std::string(kModelWindow, '[');
  EXPECT_TRUE(find_model(body).decided);
  EXPECT_TRUE(find_model("{\"a\":" + body).decided);
}

}  // namespace
}  // namespace k3d::proxy
