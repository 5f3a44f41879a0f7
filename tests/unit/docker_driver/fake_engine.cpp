#include "tests/unit/docker_driver/fake_engine.hpp"

#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <filesystem>

#include "tests/unit/docker_driver/loop.hpp"

namespace k3d::test {
namespace {

std::string hex(std::size_t number) {
  char text[20];
  const auto [end, ec] = std::to_chars(std::begin(text), std::end(text), number, 16);
  return {text, end};
}

std::size_t content_length(const std::string& head) {
  const std::string name = "Content-Length: ";
  const std::size_t at = head.find(name);
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + name.size()));
}

}  // namespace

Reply reply(unsigned status, const std::string& body, const std::string& headers) {
  return {"HTTP/1.1 " + std::to_string(status) + " X\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
              "\r\n\r\n" + body,
          false};
}

Reply chunked(const std::vector<std::string>& pieces, bool whole, const std::string& headers) {
  std::string bytes = "HTTP/1.1 200 OK\r\n" + headers + "Transfer-Encoding: chunked\r\n\r\n";
  for (const std::string& piece : pieces) bytes += hex(piece.size()) + "\r\n" + piece + "\r\n";
  if (whole) bytes += "0\r\n\r\n";
  return {bytes, false};
}

std::string socket_path() {
  static int number = 0;
  const std::string name = "k3d-fake-" + std::to_string(::getpid()) + "-" + std::to_string(++number) + ".sock";
  return std::filesystem::temp_directory_path() / name;
}

FakeEngine::FakeEngine(asio::io_context& loop, Handler handler, std::string api_version, std::string path)
    : loop_(loop),
      handler_(std::move(handler)),
      api_version_(std::move(api_version)),
      path_(path.empty() ? socket_path() : std::move(path)),
      acceptor_(loop, asio::local::stream_protocol::endpoint(path_)),
      tasks_(loop.get_executor()) {
  tasks_.spawn(accept());
}

FakeEngine::~FakeEngine() {
  // On the loop: a cancellation asked for from outside is only posted, and a task may be gone when it arrives.
  const auto end = [](TaskGroup& tasks) -> Task<bool> {
    tasks.cancel();
    co_await tasks.join();
    co_return true;
  };
  run(loop_, end(tasks_));
  std::filesystem::remove(path_);
}

Task<void> FakeEngine::accept() {
  for (;;) {
    auto socket = std::make_shared<Socket>(loop_);
    const auto [ec] = co_await acceptor_.async_accept(*socket, tok);
    if (ec) co_return;
    tasks_.spawn(serve(std::move(socket)));
  }
}

Task<void> FakeEngine::serve(std::shared_ptr<Socket> socket) {
  std::string text;
  const auto [ec, head_size] = co_await asio::async_read_until(*socket, asio::dynamic_buffer(text), "\r\n\r\n", tok);
  if (ec) co_return;
  const std::size_t whole = head_size + content_length(text.substr(0, head_size));
  const std::size_t missing = whole > text.size() ? whole - text.size() : 0;
  const auto [body_ec, n] =
      co_await asio::async_read(*socket, asio::dynamic_buffer(text), asio::transfer_exactly(missing), tok);
  if (body_ec) co_return;
  Asked asked;
  asked.method = text.substr(0, text.find(' '));
  const std::size_t target = asked.method.size() + 1;
  asked.target = text.substr(target, text.find(' ', target) - target);
  asked.body = text.substr(head_size);
  const Reply said = answer(asked);
  const auto [write_ec, written] = co_await asio::async_write(*socket, asio::buffer(said.bytes), tok);
  if (write_ec || !said.hold) co_return;
  char byte = 0;
  // Until the other side goes away.
  co_await socket->async_read_some(asio::buffer(&byte, 1), tok);
}

Reply FakeEngine::answer(const Asked& asked) {
  if (asked.target == "/_ping") {
    ++pings_;
    return reply(200, "OK", "Api-Version: " + api_version_ + "\r\n");
  }
  asked_.push_back(asked);
  return handler_(asked);
}

}  // namespace k3d::test
