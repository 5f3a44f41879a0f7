#include "api/client/sse.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace k3d::api {
namespace {

/// The events of `text`, fed in pieces of `size` bytes.
std::vector<SseEvent> events_of(std::string_view text, std::size_t size) {
  SseParser parser;
  std::vector<SseEvent> out;
  for (std::size_t at = 0; at < text.size(); at += size) {
    EXPECT_TRUE(parser.feed(text.substr(at, size)));
    while (auto event = parser.next()) out.push_back(*event);
  }
  return out;
}

TEST(SseParser, gives_the_same_events_however_the_bytes_come) {
  const std::string_view text =
      "\xef\xbb\xbf: hello\n\nevent: status\nid: b-1\ndata: {\"a\":\ndata: 1}\n\n"
      "data:no space\r\n\r\ndata:  two spaces\r\rretry: 5\nunknown: x\ndata\n\n";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    const std::vector<SseEvent> events = events_of(text, size);
    ASSERT_EQ(events.size(), 4u) << size;
    EXPECT_EQ(events[0].event, "status");
    EXPECT_EQ(events[0].id, "b-1");
    EXPECT_EQ(events[0].data, "{\"a\":\n1}");
    EXPECT_EQ(events[1].event, "message");
    EXPECT_EQ(events[1].id, "b-1");
    EXPECT_EQ(events[1].data, "no space");
    EXPECT_EQ(events[2].data, " two spaces");
    EXPECT_EQ(events[3].data, "");
  }
}

TEST(SseParser, an_event_without_data_or_without_an_end_is_none) {
  EXPECT_TRUE(events_of("event: x\n\nid: 1\n\n: comment\n\ndata: cut off", 3).empty());
}

TEST(SseParser, the_type_of_an_event_without_data_does_not_leak_into_the_next) {
  const auto events = events_of("event: x\n\ndata: 1\n\n", 100);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].event, "message");
}

TEST(SseParser, an_id_with_a_zero_byte_is_ignored) {
  const auto events = events_of(std::string_view("id: a\ndata: 1\n\nid: \0b\ndata: 2\n\n", 31), 7);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].id, "a");
}

TEST(SseParser, what_grows_without_end_is_refused) {
  SseParser lines(100);
  EXPECT_FALSE(lines.feed(std::string(101, 'x')));
  SseParser data(100);
  Status fed;
  for (int i = 0; i < 20 && fed; ++i) fed = data.feed("data: 0123456789\n");
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().code, Code::protocol);
}

}  // namespace
}  // namespace k3d::api
