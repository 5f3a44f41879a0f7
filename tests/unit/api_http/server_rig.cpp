#include "tests/unit/api_http/server_rig.hpp"

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <stdexcept>

#include "daemon/base/async/sleep.hpp"

namespace k3d::api {
namespace {

/// Counted down however the handler ends: one that is cancelled ends by an exception.
class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(count) { ++count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count_; }

 private:
  std::atomic<int>& count_;
};

}  // namespace

ServerTest::ServerTest() : router_(routes()) {
  ServerOptions options;
  options.failure_delay = milliseconds(20);
  start(options);
}

ServerTest::~ServerTest() {
  stop();
}

void ServerTest::start(ServerOptions options) {
  stop();
  loop_ = std::make_unique<asio::io_context>(1);
  AuthRules rules;
  rules.full_token = Secret("full-token");
  rules.read_token = Secret("read-token");
  server_ = std::make_unique<Server>(loop_->get_executor(), options, router_, std::move(rules));
  socket_ = "/tmp/k3d-server-" + std::to_string(::getpid()) + ".sock";
  if (!server_->listen("unix:" + socket_, {}, {})) throw std::runtime_error("no socket");
  for (port_ = 20'000; !server_->listen("127.0.0.1:" + std::to_string(port_), {}, {}); ++port_) {
  }
  thread_ = std::thread([this] { loop_->run(); });
}

void ServerTest::stop(seconds limit) {
  if (!server_) return;
  asio::co_spawn(*loop_, server_->stop(limit), asio::use_future).get();
  thread_.join();
  server_.reset();
  loop_.reset();
}

test::Reply ServerTest::ask(const std::string& bytes) {
  test::RawClient client = local();
  client.send(bytes);
  return client.reply(bytes.starts_with("HEAD"));
}

std::vector<Route> ServerTest::routes() {
  return {
      {"GET", "/livez", "live", Scope::open, [this](Exchange& e) { return say(e, "alive"); }},
      {"GET", "/things/{name}", "get_thing", Scope::read,
       [this](Exchange& e) { return say(e, e.parameters().at("name")); }},
      {"POST", "/things", "make_thing", Scope::write, [this](Exchange& e) { return say(e, e.body()); }},
      {"GET", "/status/{code}", "status", Scope::read, [this](Exchange& e) { return say_status(e); }},
      {"GET", "/shared", "shared", Scope::read, [this](Exchange& e) { return say_shared(e); }},
      {"GET", "/twice", "twice", Scope::read, [this](Exchange& e) { return say_twice(e); }},
      {"GET", "/broken", "broken", Scope::read, [](Exchange&) -> Task<void> { throw std::runtime_error("a bug"); }},
      {"GET", "/silent", "silent", Scope::read, [](Exchange&) -> Task<void> { co_return; }},
      {"GET", "/stream", "stream", Scope::read, [this](Exchange& e) { return stream(e); }},
      {"GET", "/stream/broken", "broken_stream", Scope::read, [this](Exchange& e) { return stream_and_fail(e); }},
      {"GET", "/endless", "endless", Scope::read, [this](Exchange& e) { return stream_for_ever(e); }},
      {"GET", "/wait", "wait", Scope::read, [this](Exchange& e) { return wait(e); }},
  };
}

Task<void> ServerTest::say(Exchange& exchange, std::string text) {
  ++served_;
  peer_ = exchange.peer();
  Response response;
  response.content_type = "text/plain";
  response.body = std::move(text);
  co_await exchange.reply(std::move(response));
}

Task<void> ServerTest::say_status(Exchange& exchange) {
  Response response;
  response.status = static_cast<unsigned>(std::stoul(exchange.parameters().at("code")));
  response.body = "a body that a 204 and a 304 must not have";
  co_await exchange.reply(std::move(response));
}

Task<void> ServerTest::say_shared(Exchange& exchange) {
  Response response;
  response.content_type = "text/plain";
  response.shared_body = shared_;
  co_await exchange.reply(std::move(response));
}

Task<void> ServerTest::say_twice(Exchange& exchange) {
  co_await say(exchange, "first");
  co_await say(exchange, "second");
}

Task<void> ServerTest::stream(Exchange& exchange) {
  if (!co_await exchange.begin_stream("text/event-stream")) co_return;
  for (int i = 0; i < 3; ++i) {
    std::string piece = "data: " + std::to_string(i) + "\n\n";
    if (!co_await exchange.write(std::move(piece))) co_return;
    std::string nothing;
    if (!co_await exchange.write(std::move(nothing))) co_return;
  }
}

Task<void> ServerTest::stream_and_fail(Exchange& exchange) {
  if (!co_await exchange.begin_stream("text/plain")) co_return;
  std::string piece = "half of it";
  co_await exchange.write(std::move(piece));
  throw std::runtime_error("a bug in the middle");
}

Task<void> ServerTest::stream_for_ever(Exchange& exchange) {
  const Counted counted(waiting_);
  if (!co_await exchange.begin_stream("text/plain")) co_return;
  for (bool alive = true; alive;) {
    std::string piece(64 * 1024, 'x');
    alive = co_await exchange.write(std::move(piece));
    ++pieces_;
  }
}

Task<void> ServerTest::wait(Exchange& exchange) {
  const Counted counted(waiting_);
  co_await sleep_for(seconds(60));
  co_await say(exchange, "waited");
}

}  // namespace k3d::api
