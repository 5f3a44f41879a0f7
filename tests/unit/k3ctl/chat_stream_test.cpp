#include "api/k3ctl/chat_stream.hpp"

#include <gtest/gtest.h>

namespace k3d::cli {
namespace {

TEST(ChatDelta, tells_answer_thought_figures_and_end) {
  EXPECT_EQ(chat_delta(R"({"choices":[{"delta":{"content":"Hi"},"finish_reason":null}]})").text, "Hi");
  EXPECT_EQ(chat_delta(R"({"choices":[{"delta":{"reasoning_content":"hm"}}]})").thought, "hm");
  const ChatDelta last = chat_delta(
      R"({"choices":[{"delta":{},"finish_reason":"stop"}],"timings":{"predicted_n":48,"predicted_per_second":6.5}})");
  EXPECT_TRUE(last.finished);
  EXPECT_EQ(last.tokens, 48);
  EXPECT_EQ(last.tokens_per_second, 6.5);
  EXPECT_TRUE(chat_delta("[DONE]").finished);
  EXPECT_FALSE(chat_delta(R"({"choices":[{"delta":{"content":"x"},"finish_reason":null}]})").finished);
}

TEST(ChatDelta, survives_anything) {
  for (const char* data : {"", "{", "[]", "{\"choices\":[]}", "{\"choices\":[7]}", "{\"choices\":{}}", "null"}) {
    const ChatDelta delta = chat_delta(data);
    EXPECT_EQ(delta.text, "");
    EXPECT_FALSE(delta.finished);
  }
}

TEST(ChatError, shows_the_message_and_its_code) {
  EXPECT_EQ(chat_delta(R"({"error":{"message":"boom","code":500}})").error, "boom");
  EXPECT_EQ(chat_error(503, R"({"error":{"message":"nothing runs","type":"x","code":"no_active_profile"}})"),
            "nothing runs [no_active_profile]");
  EXPECT_EQ(chat_error(502, "<html>"), "HTTP 502: <html>");
}

TEST(ProxyUrl, prefers_what_can_be_reached_from_here) {
  const std::vector<std::string> both{"100.64.0.1:8000", "127.0.0.1:8000"};
  EXPECT_EQ(proxy_url(both, ""), "http://127.0.0.1:8000");
  EXPECT_EQ(proxy_url(both, "127.0.0.1"), "http://127.0.0.1:8000");
  EXPECT_EQ(proxy_url(both, "100.64.0.1"), "http://100.64.0.1:8000");
  EXPECT_EQ(proxy_url({"100.64.0.1:8000"}, ""), "http://100.64.0.1:8000");
  EXPECT_EQ(proxy_url({"127.0.0.1:8000"}, "gpu1"), std::nullopt);
  EXPECT_EQ(proxy_url({"0.0.0.0:8000"}, ""), "http://127.0.0.1:8000");
  EXPECT_EQ(proxy_url({"0.0.0.0:8000"}, "gpu1"), "http://gpu1:8000");
  EXPECT_EQ(proxy_url({"[::1]:8000"}, ""), "http://[::1]:8000");
  EXPECT_EQ(proxy_url({}, ""), std::nullopt);
}

}  // namespace
}  // namespace k3d::cli
