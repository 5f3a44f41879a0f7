// The hub's adapter against servers that answer by a script: redirects, tokens, tries, and what no hub should send.
#include "daemon/adapters/hf_hub.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "daemon/adapters/curl_thread.hpp"
#include "tests/doubles/fake_hub_host.hpp"

namespace k3d::adapters {
namespace {

using doubles::FakeHubHost;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const std::string kRevision = "a0836360ce58dfec088d966a97f2ddc8a606279b";
const std::string kToken = "hf_canarycanarycanary";

std::string say(const std::string& status, const std::string& headers, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nConnection: close\r\n" + headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
std::string part(const std::string& body, const std::string& range) {
  return say("206 Partial Content", "ETag: \"v1\"\r\nContent-Range: bytes " + range + "\r\n", body);
}
std::string to(const std::string& url) { return say("302 Found", "Location: " + url + "\r\n", ""); }

class HfHubTest : public testing::Test {
 protected:
  template <class T>
  Result<T> finish(Task<Result<T>> task) {
    std::optional<Result<T>> out;
    auto boxed = [](Task<Result<T>> inner, std::optional<Result<T>>& place) -> Task<void> { place.emplace(co_await std::move(inner)); };
    asio::co_spawn(loop_, boxed(std::move(task), out), [](const std::exception_ptr& e) {
      if (e) std::rethrow_exception(e);
    });
    loop_.restart();
    loop_.run();
    return std::move(*out);
  }

  Hub& hub_at(const FakeHubHost& host) {
    HfHubOptions options;
    options.endpoint = host.url();
    options.token = Secret(kToken);
    options.patience = patience_;
    hub_ = hf_hub(std::move(options));
    return *hub_;
  }
  Result<HubBytes> read(const FakeHubHost& host, std::string version = {}) {
    HubRange range{"some/Model", kRevision, {"Q2/a.gguf", 1000, ""}, 10, 4, std::move(version)};
    return finish(hub_at(host).read(std::move(range)));
  }
  Result<std::vector<HubFile>> list(const FakeHubHost& host) {
    return finish(hub_at(host).list(HubFolder{"some/Model", kRevision, "Q2"}));
  }

  milliseconds patience_{10'000};
  asio::io_context loop_;
  std::unique_ptr<Hub> hub_;
};

TEST_F(HfHubTest, ReadsARangeFromTheHostThatTheHubNamesWithoutItsToken) {
  const FakeHubHost cdn([](const std::string&, std::size_t) { return part("abcd", "10-13/1000"); });
  const FakeHubHost hub([&](const std::string&, std::size_t) { return to(cdn.url() + "/x?Signature=1"); });
  const auto bytes = read(hub, "\"v1\"");
  ASSERT_TRUE(bytes) << bytes.error().text();
  EXPECT_EQ(bytes->bytes, "abcd");
  EXPECT_EQ(bytes->version, "\"v1\"");
  EXPECT_THAT(hub.heads(), testing::ElementsAre(AllOf(HasSubstr("GET /some/Model/resolve/" + kRevision + "/Q2/a.gguf"),
                                                      HasSubstr("Bearer " + kToken), HasSubstr("Range: bytes=10-13"))));
  EXPECT_THAT(cdn.heads(), testing::ElementsAre(AllOf(HasSubstr("Range: bytes=10-13"), HasSubstr("If-Range: \"v1\""), Not(HasSubstr(kToken)))));
}

TEST_F(HfHubTest, F76_RedirectsEndAfterFiveHops) {
  const FakeHubHost hub([](const std::string&, std::size_t) { return to("/again"); });
  const auto bytes = read(hub);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, Code::protocol);
  EXPECT_THAT(hub.heads(), SizeIs(6));
}

TEST_F(HfHubTest, F76_AServerInThisNetworkIsRefusedToWhomMayOnlyAskTheInternet) {
  const FakeHubHost inside([](const std::string&, std::size_t) { return say("200 OK", "", "secret"); });
  CurlThread thread(CurlOptions{});
  CurlRequest request;
  request.url = inside.url();
  request.public_only = true;
  auto ask = [](CurlThread& by, CurlRequest what) -> Task<Result<CurlAnswer>> { co_return co_await by.fetch(std::move(what)); };
  const auto answer = finish(ask(thread, request));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->refused_here);
  EXPECT_THAT(answer->body, testing::IsEmpty());
  EXPECT_THAT(inside.heads(), testing::IsEmpty());
}

TEST_F(HfHubTest, F78_AWholeFileInPlaceOfAPartIsRefusedAtOnce) {
  const FakeHubHost hub([](const std::string&, std::size_t) { return say("200 OK", "", std::string(4 * kMiB, 'x')); });
  const auto bytes = read(hub);
  ASSERT_FALSE(bytes);
  EXPECT_THAT(bytes.error().text(), HasSubstr("the whole of Q2/a.gguf"));
  EXPECT_THAT(hub.heads(), SizeIs(1));
}

TEST_F(HfHubTest, F78_MoreThanTheRangeIsRefused) {
  const FakeHubHost hub([](const std::string&, std::size_t) { return part("abcdefgh", "10-13/1000"); });
  EXPECT_EQ(read(hub).error().code, Code::protocol);
}

TEST_F(HfHubTest, F77_ABodyThatBreaksOffIsAskedForAgain) {
  const FakeHubHost hub([](const std::string&, std::size_t number) {
    const std::string whole = part("abcd", "10-13/1000");
    return number == 0 ? whole.substr(0, whole.size() - 2) : whole;
  });
  const auto bytes = read(hub);
  ASSERT_TRUE(bytes) << bytes.error().text();
  EXPECT_EQ(bytes->bytes, "abcd");
  EXPECT_THAT(hub.heads(), SizeIs(2));
}

TEST_F(HfHubTest, F74_WaitsAsTheHubSays) {
  const FakeHubHost hub([](const std::string&, std::size_t number) {
    return number == 0 ? say("429 Too Many Requests", "Retry-After: 1\r\n", "slow down") : part("abcd", "10-13/1000");
  });
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(read(hub));
  EXPECT_GE(std::chrono::steady_clock::now() - began, seconds(1));
}

TEST_F(HfHubTest, F74_GivesUpAtOnceWhenTheHubAsksForMorePatienceThanThereIs) {
  const FakeHubHost hub([](const std::string&, std::size_t) { return say("503 Busy", "Retry-After: 3600\r\n", ""); });
  const auto bytes = read(hub);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, Code::unreachable);
  EXPECT_THAT(hub.heads(), SizeIs(1));
}

TEST_F(HfHubTest, F75_GivesUpWhenNothingComes) {
  patience_ = milliseconds(1500);
  const FakeHubHost hub([](const std::string&, std::size_t) { return std::string(); });
  const auto bytes = read(hub);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, Code::unreachable);
  EXPECT_GE(hub.heads().size(), 2U);
}

TEST_F(HfHubTest, F79_AnotherCommitIsRefused) {
  const FakeHubHost hub([](const std::string&, std::size_t) {
    return say("206 Partial Content", "X-Repo-Commit: " + std::string(40, 'b') + "\r\nContent-Range: bytes 10-13/1000\r\n", "abcd");
  });
  EXPECT_EQ(read(hub).error().code, Code::protocol);
}

TEST_F(HfHubTest, ListsEveryPageWithItsToken) {
  std::string here;
  const FakeHubHost hub([&](const std::string&, std::size_t number) {
    const std::string next = number == 0 ? "Link: <" + here + "/next?cursor=1>; rel=\"next\"\r\n" : "";
    return say("200 OK", next, R"([{"type":"file","path":"Q2/)" + std::to_string(number) + R"(.gguf","size":5}])");
  });
  here = hub.url();
  const auto files = list(hub);
  ASSERT_TRUE(files) << files.error().text();
  EXPECT_THAT(*files, testing::ElementsAre(HubFile{"Q2/0.gguf", 5, ""}, HubFile{"Q2/1.gguf", 5, ""}));
  EXPECT_THAT(hub.heads(), testing::Each(HasSubstr(kToken)));
}

TEST_F(HfHubTest, ANextPageAtAnotherHostIsNotFollowed) {
  const FakeHubHost other([](const std::string&, std::size_t) { return say("200 OK", "", "[]"); });
  const FakeHubHost hub([&](const std::string&, std::size_t) {
    return say("200 OK", "Link: <" + other.url() + "/next>; rel=\"next\"\r\n", "[]");
  });
  EXPECT_EQ(list(hub).error().code, Code::protocol);
  EXPECT_THAT(other.heads(), testing::IsEmpty());
}

TEST_F(HfHubTest, F80_APageOfHtmlIsToldAsWhatItIs) {
  const FakeHubHost hub([](const std::string&, std::size_t) { return say("200 OK", "", "<html>\x1b[2J Please log in to the hotel"); });
  const auto files = list(hub);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, Code::protocol);
  EXPECT_THAT(files.error().text(), AllOf(HasSubstr("log in to the hotel"), Not(HasSubstr("\x1b"))));
}

TEST_F(HfHubTest, AnEndlessListIsCut) {
  const FakeHubHost hub([](const std::string&, std::size_t) { return say("200 OK", "", std::string(20 * kMiB, '[')); });
  EXPECT_THAT(list(hub).error().text(), HasSubstr("endless"));
}

TEST_F(HfHubTest, EndlessHeadersAreRefused) {
  patience_ = milliseconds(100);
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "X-" + std::to_string(i) + ": " + std::string(40, 'x') + "\r\n";
  const FakeHubHost hub([&](const std::string&, std::size_t) { return say("200 OK", many, "[]"); });
  EXPECT_EQ(list(hub).error().code, Code::unreachable);
}

TEST_F(HfHubTest, ARefusedTokenIsSaidAndNotTriedAgain) {
  const FakeHubHost hub([](const std::string&, std::size_t) { return say("401 Unauthorized", "", "Invalid username or password."); });
  const auto files = list(hub);
  ASSERT_FALSE(files);
  EXPECT_THAT(files.error().text(), AllOf(HasSubstr("hub.token_file"), Not(HasSubstr(kToken))));
  EXPECT_THAT(hub.heads(), SizeIs(1));
}

TEST_F(HfHubTest, AReadThatIsCancelledEndsAtOnceThoughTheHubSaysNothing) {
  asio::cancellation_signal cancel;
  std::optional<Result<HubBytes>> out;
  // Only when the request is there it is cancelled.
  const FakeHubHost hub([&](const std::string&, std::size_t) {
    asio::post(loop_, [&cancel] { cancel.emit(asio::cancellation_type::terminal); });
    return std::string();
  });
  patience_ = seconds(3600);
  HubRange range{"some/Model", kRevision, {"Q2/a.gguf", 1000, ""}, 10, 4, {}};
  auto boxed = [](Task<Result<HubBytes>> inner, std::optional<Result<HubBytes>>& place) -> Task<void> { place.emplace(co_await std::move(inner)); };
  asio::co_spawn(loop_, boxed(hub_at(hub).read(range), out), asio::bind_cancellation_slot(cancel.slot(), [](const std::exception_ptr&) {}));
  const auto began = std::chrono::steady_clock::now();
  loop_.run();
  EXPECT_TRUE(!out || !*out);
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(30));
}

}  // namespace
}  // namespace k3d::adapters
