#include "api/http/session.hpp"

#include <boost/asio/write.hpp>
#include <stdexcept>

#include "api/http/chunked.hpp"
#include "api/http/problem.hpp"
#include "api/http/server.hpp"
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/log.hpp"

namespace k3d::api {
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;
constexpr std::size_t kPipelineLimit = 64 * 1024;
constexpr std::size_t kLingerLimit = 16 * kMiB;

/// How a response's body ends.
enum class Framing { counted, chunked, until_close };

std::string head_of(const Response& response, std::size_t length, Framing framing, bool keep_alive) {
  std::string out = "HTTP/1.1 " + std::to_string(response.status) + " \r\n";
  if (!response.content_type.empty()) out += "Content-Type: " + response.content_type + "\r\n";
  for (const auto& [name, value] : response.headers) out += name + ": " + value + "\r\n";
  if (framing == Framing::chunked) out += "Transfer-Encoding: chunked\r\n";
  if (framing != Framing::counted) out += "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n";
  const bool bodiless = response.status == 204 || response.status == 304;
  if (framing == Framing::counted && !bodiless) out += "Content-Length: " + std::to_string(length) + "\r\n";
  out += "X-Content-Type-Options: nosniff\r\n";
  return out + (keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n");
}

/// A request that has been read, and the way back to its client.
class LiveExchange : public Exchange {
 public:
  LiveExchange(Server& server, Connection& connection, RequestHead head, std::string body)
      : server_(server), connection_(connection), head_(std::move(head)), body_(std::move(body)) {}

  [[nodiscard]] const RequestHead& head() const override { return head_; }
  [[nodiscard]] const std::string& body() const override { return body_; }
  [[nodiscard]] const Peer& peer() const override { return connection_.peer; }
  [[nodiscard]] bool client_gone() const override { return gone_; }
  void set_gone() { gone_ = true; }
  [[nodiscard]] bool answered() const { return answered_; }
  [[nodiscard]] bool keep_alive() const { return head_.keep_alive && !close_ && !gone_ && !server_.stopping(); }
  void must_close() { close_ = true; }

  Task<void> reply(Response response) override {
    begin_answer();
    const std::string& body = response.shared_body ? *response.shared_body : response.body;
    const std::string head = head_of(response, body.size(), Framing::counted, keep_alive());
    const bool bodiless = head_.method == "HEAD" || response.status == 204 || response.status == 304;
    const std::array<asio::const_buffer, 2> buffers{asio::buffer(head),
                                                    bodiless ? asio::buffer("", 0) : asio::buffer(body)};
    co_await send(buffers);
  }

  Task<bool> begin_stream(std::string content_type) override {
    begin_answer();
    connection_.streaming = true;
    chunked_ = head_.minor_version == 1;
    if (!chunked_ || head_.method == "HEAD") close_ = true;
    Response response;
    response.content_type = std::move(content_type);
    const std::string head = head_of(response, 0, chunked_ ? Framing::chunked : Framing::until_close, keep_alive());
    const std::array<asio::const_buffer, 1> buffers{asio::buffer(head)};
    co_return co_await send(buffers) && head_.method != "HEAD";
  }

  Task<bool> write(std::string piece) override {
    if (piece.empty()) co_return !gone_;  // an empty chunk would end the body
    if (!chunked_) {
      const std::array<asio::const_buffer, 1> buffers{asio::buffer(piece)};
      co_return co_await send(buffers);
    }
    char size[24];
    const int n = std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
    const std::array<asio::const_buffer, 3> buffers{asio::buffer(size, static_cast<std::size_t>(n)),
                                                    asio::buffer(piece), asio::buffer("\r\n", 2)};
    co_return co_await send(buffers);
  }

  /// The end of a stream that the handler ended.
  Task<void> finish() {
    if (!connection_.streaming || !chunked_ || gone_ || head_.method == "HEAD") co_return;
    const std::array<asio::const_buffer, 1> buffers{asio::buffer("0\r\n\r\n", 5)};
    co_await send(buffers);
  }

 private:
  /// The client would take a second answer for that to its next request.
  void begin_answer() {
    if (answered_) throw std::logic_error("a second answer to one request");
    answered_ = true;
  }

  template <class Buffers>
  Task<bool> send(Buffers buffers) {
    if (gone_) co_return false;
    connection_.expires = std::chrono::steady_clock::now() + server_.options().write_limit;
    const auto [ec, n] = co_await asio::async_write(connection_.socket, buffers, tok);
    connection_.expires = SteadyTime::max();
    if (ec) gone_ = true;
    co_return !ec;
  }

  Server& server_;
  Connection& connection_;
  RequestHead head_;
  std::string body_;
  bool gone_ = false;
  bool answered_ = false;
  bool close_ = false;
  bool chunked_ = false;
};

class Session {
 public:
  Session(Server& server, Connection& connection) : server_(server), connection_(connection) {}

  Task<void> run() {
    bool more = true;
    while (more && !server_.stopping()) {
      const Result<std::string> raw = co_await read_head();
      if (!raw && raw.error().code == Code::unreachable) break;
      connection_.busy = true;
      more = co_await one(raw);
      connection_.busy = false;
    }
    co_await linger();
  }

 private:
  void expire_in(milliseconds limit) { connection_.expires = std::chrono::steady_clock::now() + limit; }

  Task<bool> read_more() {
    std::string piece(kReadBytes, '\0');
    const auto [ec, n] = co_await connection_.socket.async_read_some(asio::buffer(piece), tok);
    pending_.append(piece, 0, n);
    co_return !ec && n > 0;
  }

  Task<Result<std::string>> read_head() {
    expire_in(pending_.empty() ? server_.options().idle_limit : server_.options().head_deadline);
    HeadEnd end;
    for (;;) {
      const Result<std::size_t> length = end.find(pending_);
      if (!length) co_return fail(length.error());
      if (*length > 0) {
        std::string head = pending_.substr(0, *length);
        pending_.erase(0, *length);
        connection_.expires = SteadyTime::max();
        co_return head;
      }
      const bool first = pending_.empty();
      if (!co_await read_more()) co_return fail(Code::unreachable, "the client is gone");
      if (first) expire_in(server_.options().head_deadline);  // in all, not per read
    }
  }

  /// One request from its head to its answer; false when the connection is over.
  Task<bool> one(const Result<std::string>& raw) {
    Result<RequestHead> head = raw ? parse_head(*raw) : Result<RequestHead>(fail(raw.error()));
    if (!head) {
      RequestHead none;
      co_return co_await refuse(std::move(none), head.error());
    }
    Result<Match> match = server_.router().match(head->method, head->path);
    const bool reads = head->method == "GET" || head->method == "HEAD";
    const Scope scope = match ? match->route->scope : reads ? Scope::read : Scope::write;
    // Who may not ask learns nothing of what there is.
    if (Status allowed = authorise(*head, connection_.peer, scope, server_.rules()); !allowed) {
      if (allowed.error().code == Code::unauthorized) co_await sleep_for(server_.options().failure_delay);
      co_return co_await refuse(std::move(*head), allowed.error());
    }
    if (!match) co_return co_await refuse(std::move(*head), match.error());
    Result<std::string> body = co_await read_body(*head);
    if (!body && body.error().code == Code::unreachable) co_return false;
    if (!body) co_return co_await refuse(std::move(*head), body.error());
    LiveExchange exchange(server_, connection_, std::move(*head), std::move(*body));
    exchange.set_parameters(std::move(match->parameters));
    co_await handle(exchange, *match->route);
    connection_.streaming = false;
    co_return exchange.answered() && exchange.keep_alive();
  }

  Task<bool> refuse(RequestHead head, Error error) {
    const bool has_body = head.chunked || head.content_length.value_or(0) > 0;
    const bool parsed = !head.method.empty();
    Response response = problem_response(error);
    if (error.code == Code::method_not_allowed) response.headers.emplace_back("Allow", error.hint);
    if (error.code == Code::unauthorized) response.headers.emplace_back("WWW-Authenticate", "Bearer");
    LiveExchange exchange(server_, connection_, std::move(head), {});
    if (has_body || !parsed) exchange.must_close();
    co_await exchange.reply(std::move(response));
    co_return exchange.keep_alive();
  }

  Task<Result<std::string>> read_body(const RequestHead& head) {
    std::string body;
    std::uint64_t left = head.content_length.value_or(0);
    if (!head.chunked && left == 0) co_return body;
    const Bytes limit = server_.options().max_body;
    const Error too_large{Code::body_too_large, "the body is over " + format_bytes(limit), {}, {}};
    if (Status typed = check_content_type(head); !typed) co_return fail(typed.error());
    if (left > limit) co_return fail(too_large);
    expire_in(server_.options().body_deadline);
    if (head.expect_continue) {
      const std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await asio::async_write(connection_.socket, asio::buffer(interim), tok);
    }
    ChunkScanner scanner;
    for (;;) {
      if (head.chunked) {
        const Result<std::size_t> used = scanner.consume(pending_, body);
        if (!used) co_return fail(used.error());
        pending_.erase(0, *used);
      } else {
        const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(left, pending_.size()));
        body.append(pending_, 0, n);
        pending_.erase(0, n);
        left -= n;
      }
      if (body.size() > limit) co_return fail(too_large);
      if (head.chunked ? scanner.done() : left == 0) break;
      if (!co_await read_more()) co_return fail(Code::unreachable, "the client is gone");
    }
    connection_.expires = SteadyTime::max();
    co_return body;
  }

  /// Runs the handler and watches the client meanwhile: one that leaves cancels the handler.
  Task<void> handle(LiveExchange& exchange, const Route& route) {
    const auto executor = co_await asio::this_coro::executor;
    TaskGroup work(executor);
    TaskGroup watch(executor);
    bool ending = false;
    connection_.handler = &work;
    work.spawn(run_handler(exchange, route));
    watch.spawn(watch_client(exchange, work, ending));
    co_await work.join();
    ending = true;
    watch.cancel();
    co_await watch.join();
    connection_.handler = nullptr;
  }

  static Task<void> run_handler(LiveExchange& exchange, const Route& route) {
    bool failed = false;
    try {
      co_await route.handler(exchange);
    } catch (const boost::system::system_error& e) {
      if (e.code() == asio::error::operation_aborted) throw;
      failed = true;
      log::error("a handler failed", {{"operation", route.operation_id}, {"what", e.what()}});
    } catch (const std::exception& e) {
      failed = true;
      log::error("a handler failed", {{"operation", route.operation_id}, {"what", e.what()}});
    }
    if (!failed && !exchange.answered() && !exchange.client_gone()) {
      failed = true;
      log::error("a handler ended without an answer", {{"operation", route.operation_id}});
    }
    if (!failed) {
      co_await exchange.finish();
    } else if (exchange.answered()) {
      exchange.must_close();
    } else {
      const Error error{Code::internal, "the request could not be served", "k3d's log says why", {}};
      Response response = problem_response(error);
      co_await exchange.reply(std::move(response));
    }
  }

  Task<void> watch_client(LiveExchange& exchange, TaskGroup& work, const bool& ending) {
    co_await asio::this_coro::throw_if_cancelled(false);
    while (!ending && pending_.size() < kPipelineLimit) {
      const bool alive = co_await read_more();
      if (ending) co_return;
      if (alive) continue;
      exchange.set_gone();
      work.cancel();
      co_return;
    }
  }

  /// Lets the client read its answer before the socket goes: closing on unread bytes would reset the connection.
  Task<void> linger() {
    boost::system::error_code ignored;
    connection_.socket.shutdown(Server::Socket::shutdown_send, ignored);
    expire_in(seconds(1));
    std::size_t dropped = 0;
    do {
      dropped += pending_.size();
      pending_.clear();
    } while (dropped < kLingerLimit && co_await read_more());
    connection_.socket.close(ignored);
  }

  Server& server_;
  Connection& connection_;
  std::string pending_;
};

}  // namespace

void Connection::close() {
  boost::system::error_code ignored;
  socket.close(ignored);
  if (handler != nullptr) handler->cancel();
}

Task<void> run_session(Server& server, Connection& connection) {
  Session session(server, connection);
  co_await session.run();
}

}  // namespace k3d::api
