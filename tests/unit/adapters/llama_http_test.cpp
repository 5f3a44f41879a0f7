// Questions to a scripted llama-server, over a unix socket and over TCP.
#include "daemon/adapters/llama_http.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>
#include <optional>
#include <thread>

namespace k3d::adapters {
namespace {

using testing::HasSubstr;
using testing::Not;

template <class T>
T run(Task<T> task) {
  asio::io_context loop;
  std::optional<T> out;
  auto boxed = [](Task<T> inner, std::optional<T>& place) -> Task<void> { place.emplace(co_await std::move(inner)); };
  asio::co_spawn(loop, boxed(std::move(task), out), [](const std::exception_ptr& exception) {
    if (exception) std::rethrow_exception(exception);
  });
  loop.run();
  return std::move(*out);
}

std::string response(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

/// Answers one connection with fixed bytes, on a thread of its own, and keeps what was asked. Empty bytes: it says
/// nothing until the client goes away.
template <class Protocol>
class OneAnswer {
 public:
  OneAnswer(typename Protocol::endpoint at, std::string bytes) : acceptor_(loop_, at), bytes_(std::move(bytes)) {
    thread_ = std::thread([this] { serve(); });
  }
  OneAnswer(const OneAnswer&) = delete;
  OneAnswer& operator=(const OneAnswer&) = delete;
  ~OneAnswer() {
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] auto endpoint() const { return acceptor_.local_endpoint(); }
  std::string asked() {
    thread_.join();
    return asked_;
  }

 private:
  void serve() {
    typename Protocol::socket socket(loop_);
    boost::system::error_code ec;
    acceptor_.accept(socket, ec);
    asio::read_until(socket, asio::dynamic_buffer(asked_), "\r\n\r\n", ec);
    const std::size_t head = asked_.find("\r\n\r\n");
    const std::size_t length_at = asked_.find("Content-Length: ");
    if (head != std::string::npos && length_at != std::string::npos) {
      const std::size_t length = std::stoul(asked_.substr(length_at + 16)), have = asked_.size() - head - 4;
      if (have < length) asio::read(socket, asio::dynamic_buffer(asked_), asio::transfer_exactly(length - have), ec);
    }
    if (!bytes_.empty()) {
      asio::write(socket, asio::buffer(bytes_), ec);
      return;
    }
    char end = 0;
    socket.read_some(asio::buffer(&end, 1), ec);
  }

  asio::io_context loop_;
  typename Protocol::acceptor acceptor_;
  std::string bytes_, asked_;
  std::thread thread_;
};

using Local = asio::local::stream_protocol;
using Tcp = asio::ip::tcp;

class LlamaHttpTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / ("k3d-llama-" + std::to_string(::getpid()) + ".sock")).string();
    ::unlink(path_.c_str());
  }
  void TearDown() override { ::unlink(path_.c_str()); }

  [[nodiscard]] EngineAddress address() const { return {path_, 0, {}}; }
  Result<Health> health_for(const std::string& bytes) {
    ::unlink(path_.c_str());
    const OneAnswer<Local> engine(Local::endpoint(path_), bytes);
    return run(llama_http()->health(address()));
  }
  Status probe_for(const std::string& bytes, seconds limit = seconds(10)) {
    ::unlink(path_.c_str());
    const OneAnswer<Local> engine(Local::endpoint(path_), bytes);
    return run(llama_http()->probe(address(), limit));
  }

  std::string path_;
};

TEST_F(LlamaHttpTest, health_by_status) {
  EXPECT_EQ(health_for(response("200 OK", R"({"status":"ok"})")), Health::ok);
  EXPECT_EQ(health_for(response("503 Service Unavailable", R"({"error":{"message":"Loading model","code":503}})")),
            Health::loading);
}

TEST_F(LlamaHttpTest, nobody_listens_yet) {
  EXPECT_EQ(run(llama_http()->health(address())), Health::refused) << "no socket yet";
  {
    asio::io_context loop;
    const Local::acceptor gone(loop, Local::endpoint(path_));
  }
  EXPECT_EQ(run(llama_http()->health(address())), Health::refused) << "a socket that a dead engine left behind";
  std::uint16_t free = 0;
  {
    asio::io_context loop;
    free = Tcp::acceptor(loop, Tcp::endpoint(asio::ip::address_v4::loopback(), 0)).local_endpoint().port();
  }
  EXPECT_EQ(run(llama_http()->health({"", free, {}})), Health::refused);
}

TEST_F(LlamaHttpTest, an_odd_answer_is_no_verdict) {
  const auto status = health_for(response("401 Unauthorized", R"({"error":{"message":"Invalid API Key"}})"));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::upstream_failed);
  EXPECT_EQ(status.error().cause, "Invalid API Key");
  const auto garbage = health_for("nonsense\r\n\r\n");
  ASSERT_FALSE(garbage);
  EXPECT_EQ(garbage.error().code, Code::protocol);
}

TEST_F(LlamaHttpTest, health_gives_up_after_three_seconds) {
  const auto begin = std::chrono::steady_clock::now();
  const auto health = health_for("");
  const auto took = std::chrono::steady_clock::now() - begin;
  ASSERT_FALSE(health);
  EXPECT_EQ(health.error().code, Code::timed_out);
  EXPECT_GE(took, milliseconds(2900));
  EXPECT_LT(took, seconds(10));
}

TEST_F(LlamaHttpTest, a_probe_asks_for_one_token) {
  OneAnswer<Local> engine(Local::endpoint(path_), response("200 OK", R"({"content":"4"})"));
  const Status status = run(llama_http()->probe(address(), seconds(10)));
  EXPECT_TRUE(status) << status.error().text();
  const std::string asked = engine.asked();
  EXPECT_THAT(asked, HasSubstr("POST /completion HTTP/1.1"));
  EXPECT_THAT(asked, HasSubstr("\"n_predict\":1"));
  EXPECT_THAT(asked, Not(HasSubstr("Authorization")));
}

TEST_F(LlamaHttpTest, probe_failures) {
  const Status loading = probe_for(response("503 Service Unavailable", R"({"error":{"message":"Loading model"}})"));
  ASSERT_FALSE(loading);
  EXPECT_EQ(loading.error().code, Code::model_loading);
  const Status failed = probe_for(response("500 Internal Server Error", R"({"error":{"message":"Compute error."}})"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::upstream_failed);
  EXPECT_EQ(failed.error().cause, "Compute error.");
  EXPECT_THAT(failed.error().message, HasSubstr("500"));
  const Status text = probe_for(response("404 Not Found", std::string(2000, 'x')));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().cause.size(), 500U);
  const Status slow = probe_for("", seconds(1));
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().code, Code::timed_out);
}

TEST_F(LlamaHttpTest, the_key_is_sent_over_tcp) {
  OneAnswer<Tcp> engine(Tcp::endpoint(asio::ip::address_v4::loopback(), 0), response("200 OK", "{}"));
  const EngineAddress with_key{"", engine.endpoint().port(), "the-key"};
  EXPECT_TRUE(run(llama_http()->probe(with_key, seconds(10))));
  EXPECT_THAT(engine.asked(), HasSubstr("Authorization: Bearer the-key"));
}

}  // namespace
}  // namespace k3d::adapters
