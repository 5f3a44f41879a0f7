// TLS of the HTTP client: who is trusted, who isn't, and what the error says.
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>
#include <filesystem>

#include "daemon/base/async/task_group.hpp"
#include "daemon/base/http_client.hpp"
#include "tests/unit/docker_driver/loop.hpp"

namespace k3d {
namespace {

using asio::ip::tcp;
using TlsSocket = asio::ssl::stream<tcp::socket>;

Task<void> serve_one(tcp::acceptor& acceptor, asio::ssl::context& context) {
  tcp::socket plain(co_await asio::this_coro::executor);
  const auto [accept_ec] = co_await acceptor.async_accept(plain, tok);
  if (accept_ec) co_return;
  TlsSocket socket(std::move(plain), context);
  const auto [ec] = co_await socket.async_handshake(asio::ssl::stream_base::server, tok);
  if (ec) co_return;
  std::string head;
  const auto [read_ec, n] = co_await asio::async_read_until(socket, asio::dynamic_buffer(head), "\r\n\r\n", tok);
  if (read_ec) co_return;
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue";
  const auto [write_ec, written] = co_await asio::async_write(socket, asio::buffer(answer), tok);
  if (write_ec) co_return;
  co_await socket.async_shutdown(tok);
}

class HttpTls : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("k3d-tls-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    const std::string make =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test "
        "-addext subjectAltName=DNS:localhost -keyout '" +
        key() + "' -out '" + cert() + "' 2>/dev/null";
    ASSERT_EQ(std::system(make.c_str()), 0) << make;
    context_.use_certificate_chain_file(cert());
    context_.use_private_key_file(key(), asio::ssl::context::pem);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string cert() const { return folder_ / "cert.pem"; }
  [[nodiscard]] std::string key() const { return folder_ / "key.pem"; }

  Result<http::Response> get(const std::string& host, http::Tls tls) {
    TaskGroup server(loop_.get_executor());
    server.spawn(serve_one(acceptor_, context_));
    http::Endpoint endpoint;
    endpoint.host = host;
    endpoint.port = acceptor_.local_endpoint().port();
    endpoint.tls = std::move(tls);
    const http::Client client(endpoint);
    http::Request request;
    Result<http::Response> answer = test::run(loop_, client.call(std::move(request), milliseconds(20'000)));
    const auto end = [](TaskGroup& group) -> Task<bool> {
      group.cancel();
      co_await group.join();
      co_return true;
    };
    test::run(loop_, end(server));
    return answer;
  }

  asio::io_context loop_;
  asio::ssl::context context_{asio::ssl::context::tls_server};
  tcp::acceptor acceptor_{loop_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::filesystem::path folder_;
};

TEST_F(HttpTls, trusted_server_is_talked_to) {
  const auto answer = get("localhost", http::Tls{cert(), {}, {}});
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->body, "true");
}

TEST_F(HttpTls, certificate_of_another_name_is_refused) {
  const auto answer = get("127.0.0.1", http::Tls{cert(), {}, {}});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::unreachable);
  EXPECT_NE(answer.error().cause.find("certificate verify failed"), std::string::npos) << answer.error().text();
}

TEST_F(HttpTls, unknown_authority_is_refused) {
  const auto answer = get("localhost", http::Tls{});
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().cause.find("certificate verify failed"), std::string::npos) << answer.error().text();
}

TEST_F(HttpTls, unreadable_file_is_named) {
  const auto answer = get("localhost", http::Tls{cert(), "/nonexistent/cert.pem", {}});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::config_invalid);
  EXPECT_NE(answer.error().message.find("/nonexistent/cert.pem"), std::string::npos);
}

}  // namespace
}  // namespace k3d
