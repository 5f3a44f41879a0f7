#include "api/proxy/session.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/write.hpp>

#include "api/proxy/answers.hpp"
#include "api/proxy/door.hpp"
#include "api/proxy/model_name.hpp"
#include "api/proxy/relay.hpp"
#include "api/proxy/request_body.hpp"
#include "api/proxy/worker.hpp"
#include "daemon/base/log.hpp"

namespace k3d::proxy {
namespace {

using TcpSocket = asio::ip::tcp::socket;

constexpr std::size_t kReadBytes = 4 * kKiB;
constexpr Bytes kLingerBytes = 256 * kMiB;
constexpr int kAliveAfterSeconds = 60;
constexpr int kAliveEverySeconds = 15;
constexpr int kAliveProbes = 4;

/// Tokens leave at once; a client that vanished without a word is noticed within two minutes, also in a long prefill.
void tune(TcpSocket& socket) {
  boost::system::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int fd = socket.native_handle();
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kAliveAfterSeconds, sizeof kAliveAfterSeconds);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kAliveEverySeconds, sizeof kAliveEverySeconds);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kAliveProbes, sizeof kAliveProbes);
}

std::string address_of(const TcpSocket& socket) {
  boost::system::error_code ec;
  const auto endpoint = socket.remote_endpoint(ec);
  return ec ? std::string("unknown") : endpoint.address().to_string();
}

class Session {
 public:
  Session(Worker& worker, std::shared_ptr<TcpSocket> socket)
      : worker_(worker), socket_(std::move(socket)), watch_(worker, socket_) {}

  Task<void> run() {
    tune(*socket_);
    client_.address = address_of(*socket_);
    bool more = true;
    while (more) {
      const Result<std::string> raw = co_await read_head();
      if (!raw && raw.error().code == Code::unreachable) co_return;
      const Result<api::RequestHead> head = raw ? api::parse_head(*raw) : Result<api::RequestHead>(fail(raw.error()));
      if (!head) {
        co_await say(error_answer(head.error()), false, false);
        co_await linger();
        co_return;
      }
      client_.minor_version = head->minor_version;
      client_.keep_alive = head->keep_alive && !worker_.retiring();
      guard_ = worker_.guard();
      client_.allowed_origin = guard_->allowed_origin(*head);
      more = co_await handle(*head) && !over();
    }
    co_await linger();
  }

 private:
  /// The loop ends, and no further request is here.
  [[nodiscard]] bool over() const {
    boost::system::error_code ignored;
    return worker_.retiring() && pending_.empty() && socket_->available(ignored) == 0;
  }

  Task<Result<std::string>> read_head() {
    watch_.read_within(pending_.empty() ? worker_.idle_limit() : worker_.limits().head);
    watch_.set_idle(pending_.empty());
    api::HeadEnd end;
    for (;;) {
      const Result<std::size_t> length = end.find(pending_);
      if (!length) co_return fail(length.error());
      if (*length > 0) {
        std::string head = pending_.substr(0, *length);
        pending_.erase(0, *length);
        watch_.read_any_time();
        watch_.set_used();
        co_return head;
      }
      const bool first = pending_.empty();
      const bool more = co_await read_more();
      watch_.set_idle(false);
      if (!more) co_return fail(Code::unreachable, "the client is gone");
      if (first) watch_.read_within(worker_.limits().head);  // in all, not per read
    }
  }

  Task<bool> read_more() {
    const std::size_t before = pending_.size();
    pending_.resize(before + kReadBytes);
    const auto [ec, n] = co_await socket_->async_read_some(asio::buffer(pending_.data() + before, kReadBytes), tok);
    pending_.resize(before + n);
    co_return !ec && n > 0;
  }

  Task<bool> write(std::string bytes) {
    watch_.write_within(worker_.limits().write);
    const auto [ec, n] = co_await asio::async_write(*socket_, asio::buffer(bytes), tok);
    watch_.write_any_time();
    co_return !ec;
  }

  Task<bool> say(Answer answer, bool keep_alive, bool head_only) {
    if (!client_.allowed_origin.empty())
      answer.headers.emplace_back("Access-Control-Allow-Origin", client_.allowed_origin);
    std::string bytes = serialise(answer, keep_alive, head_only);
    co_return co_await write(std::move(bytes)) && keep_alive;
  }

  /// False when the connection is over.
  Task<bool> handle(const api::RequestHead& head) {
    const bool head_only = head.method == "HEAD";
    const bool has_body = head.chunked || head.content_length.value_or(0) > 0;
    const bool reusable = client_.keep_alive && !has_body;
    if (head.method == "OPTIONS") co_return co_await say(preflight(), reusable, false);
    if (const Status admitted = guard_->admit(head); !admitted) {
      co_return co_await say(error_answer(admitted.error()), reusable, head_only);
    }
    if (head.content_length.value_or(0) > guard_->max_body()) {
      co_return co_await say(error_answer(too_large(guard_->max_body())), false, head_only);
    }
    if (head.path == "/v1/models" || head.path == "/models") {
      co_return co_await say(models_answer(*worker_.snapshot()), reusable, head_only);
    }
    Door door(worker_, *socket_, client_.address);
    // Whoever waits to be asked for its body waits without having sent it; of the others the name is read first.
    Passage passage = co_await door.pass([asked_later = head.expect_continue](const Snapshot& snapshot) {
      Verdict verdict = judge_unseen(snapshot);
      if (!asked_later) verdict.wait.reset();
      return verdict;
    });
    if (!passage.snapshot) co_return co_await turn_away(std::move(passage), reusable, head_only);
    if (head.expect_continue && !co_await write("HTTP/1.1 100 Continue\r\n\r\n")) co_return false;
    co_return co_await admit_and_relay(head, door, head_only);
  }

  Task<bool> turn_away(Passage passage, bool keep_alive, bool head_only) {
    if (!passage.answer) co_return false;
    co_return co_await say(std::move(*passage.answer), keep_alive && !worker_.retiring(), head_only);
  }

  static Error too_large(Bytes limit) {
    return {Code::body_too_large, "the body is over " + format_bytes(limit), "proxy.max_body_bytes sets the limit", {}};
  }

  [[nodiscard]] Answer preflight() const {
    Answer answer{204, {}, {}};
    if (client_.allowed_origin.empty()) return answer;
    answer.headers = {{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
                      {"Access-Control-Allow-Headers", "Authorization, Content-Type, X-Api-Key"},
                      {"Access-Control-Max-Age", "600"},
                      {"Vary", "Origin"}};
    return answer;
  }

  Task<bool> admit_and_relay(const api::RequestHead& head, Door& door, bool head_only) {
    RequestBody body(*socket_, watch_, pending_, head, guard_->max_body(), worker_.limits().body_patience);
    std::string window;
    ModelSearch search;
    while (!body.done() && !search.decided && window.size() < kModelWindow) {
      const Result<std::string> piece = co_await body.next();
      if (!piece) co_return co_await refuse_body(piece.error(), head_only);
      window += *piece;
      search = find_model(window);
    }
    Passage passage = co_await door.pass([&search](const Snapshot& snapshot) { return judge(snapshot, search.model); });
    const bool reusable = client_.keep_alive && body.done();
    if (!passage.snapshot) co_return co_await turn_away(std::move(passage), reusable, head_only);
    // From reading the snapshot to being counted nothing else of this loop can run: a drain can't miss the request.
    if (worker_.full()) co_return co_await say(too_many(), reusable, head_only);
    Worker::Admission admission(worker_, passage.snapshot->generation);
    Relay relay(worker_, *socket_, watch_, pending_, client_);
    co_return co_await relay.run(head, body, std::move(window), passage.snapshot->route->address, admission.flight());
  }

  Task<bool> refuse_body(Error error, bool head_only) {
    if (error.code != Code::unreachable) co_await say(error_answer(error), false, head_only);
    co_return false;
  }

  /// Lets the client read its answer before the socket goes: closing on unread bytes would reset the connection.
  Task<void> linger() {
    boost::system::error_code ignored;
    socket_->shutdown(TcpSocket::shutdown_send, ignored);
    watch_.read_within(worker_.limits().linger);
    watch_.set_due();
    Bytes dropped = 0;
    do {
      dropped += pending_.size();
      pending_.clear();
    } while (dropped < kLingerBytes && co_await read_more());
    socket_->close(ignored);
  }

  Worker& worker_;
  std::shared_ptr<TcpSocket> socket_;
  Worker::Watch watch_;
  std::string pending_;
  std::shared_ptr<Guard> guard_;  ///< the one that the request met
  Client client_;
};

}  // namespace

Task<void> run_session(Worker& worker, std::shared_ptr<asio::ip::tcp::socket> socket) {
  Session session(worker, std::move(socket));
  co_await session.run();
}

}  // namespace k3d::proxy
