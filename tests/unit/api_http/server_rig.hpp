// A server on a unix socket and a TCP port, with a few handlers that count what reaches them, for tests with raw
// clients. The loop has a thread of its own.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <thread>

#include "api/http/server.hpp"
#include "tests/unit/api_http/raw_client.hpp"

namespace k3d::api {

class ServerTest : public testing::Test {
 protected:
  ServerTest();
  ~ServerTest() override;

  /// Starts the server anew with these options; every test begins with the default ones.
  void start(ServerOptions options);
  void stop(seconds limit = seconds(0));

  [[nodiscard]] test::RawClient local() const { return test::RawClient::local(socket_); }
  [[nodiscard]] test::RawClient tcp() const { return test::RawClient::tcp(port_); }
  /// The first answer to these bytes on the unix socket.
  test::Reply ask(const std::string& bytes);

  std::string socket_;
  std::uint16_t port_ = 0;
  std::atomic<int> served_{0};   ///< handlers that answered whole
  std::atomic<int> waiting_{0};  ///< handlers of /wait and /endless that run
  std::atomic<int> pieces_{0};   ///< that /endless has sent
  Peer peer_;                    ///< who asked last
  std::shared_ptr<const std::string> shared_ = std::make_shared<const std::string>("one body for everyone");

 private:
  std::vector<Route> routes();
  Task<void> say(Exchange& exchange, std::string text);
  Task<void> say_status(Exchange& exchange);
  Task<void> say_shared(Exchange& exchange);
  Task<void> say_twice(Exchange& exchange);
  Task<void> stream(Exchange& exchange);
  Task<void> stream_and_fail(Exchange& exchange);
  Task<void> stream_for_ever(Exchange& exchange);
  Task<void> wait(Exchange& exchange);

  Router router_;
  std::unique_ptr<asio::io_context> loop_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

}  // namespace k3d::api
