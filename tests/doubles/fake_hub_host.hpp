// A web server of a test, which answers by a script what real ones never would. Keeps what it was asked.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace k3d::doubles {

class FakeHubHost {
 public:
  /// From the head of a request, and its number from 0, to all that is sent; then the connection is closed.
  using Script = std::function<std::string(const std::string& head, std::size_t number)>;

  explicit FakeHubHost(Script script);
  FakeHubHost(const FakeHubHost&) = delete;
  FakeHubHost& operator=(const FakeHubHost&) = delete;
  ~FakeHubHost();

  /// http://127.0.0.1:PORT
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::vector<std::string> heads() const;

 private:
  void serve();

  Script script_;
  boost::asio::io_context loop_;
  boost::asio::ip::tcp::acceptor acceptor_;
  mutable std::mutex mutex_;
  std::vector<std::string> heads_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace k3d::doubles
