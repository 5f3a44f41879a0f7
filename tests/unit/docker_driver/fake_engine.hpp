// An HTTP server on a unix socket that says what a test tells it to, byte for byte. On the test's own loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/async/task_group.hpp"

namespace k3d::test {

struct Asked {
  std::string method, target, body;
};

struct Reply {
  std::string bytes;  ///< status line, head and body as they are sent
  bool hold = false;  ///< then nothing more, but the connection stays; else it is closed
};

/// "HTTP/1.1 STATUS", a Content-Length and `body`.
Reply reply(unsigned status, const std::string& body, const std::string& headers = {});
/// 200 with a body in chunks; `whole`: with the last one, else it breaks off.
Reply chunked(const std::vector<std::string>& pieces, bool whole, const std::string& headers = {});

class FakeEngine {
 public:
  using Handler = std::function<Reply(const Asked&)>;

  /// Listens at once. GET /_ping is answered with `api_version` and not given to `handler`.
  FakeEngine(asio::io_context& loop, Handler handler, std::string api_version = "1.41", std::string path = {});
  ~FakeEngine();
  FakeEngine(const FakeEngine&) = delete;
  FakeEngine& operator=(const FakeEngine&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::vector<Asked>& asked() const { return asked_; }
  [[nodiscard]] int pings() const { return pings_; }
  /// Another Engine answers from now on.
  void set_version(std::string version) { api_version_ = std::move(version); }

 private:
  using Socket = asio::local::stream_protocol::socket;

  Task<void> accept();
  Task<void> serve(std::shared_ptr<Socket> socket);
  Reply answer(const Asked& asked);

  asio::io_context& loop_;
  Handler handler_;
  std::string api_version_, path_;
  asio::local::stream_protocol::acceptor acceptor_;
  TaskGroup tasks_;
  std::vector<Asked> asked_;
  int pings_ = 0;
};

/// A path for a unix socket that nobody else has.
std::string socket_path();

}  // namespace k3d::test
