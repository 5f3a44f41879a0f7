#include "api/proxy/relay.hpp"

#include <boost/asio/write.hpp>

#include "api/proxy/answers.hpp"
#include "daemon/base/async/task_group.hpp"

namespace k3d::proxy {
namespace {

constexpr std::size_t kHeadLimit = 64 * kKiB;
constexpr std::size_t kSmallBuffer = 16 * kKiB;
constexpr std::size_t kLargeBuffer = 256 * kKiB;
constexpr std::size_t kPipelineLimit = 64 * kKiB;
constexpr seconds kWriteLimit{600};

/// Cuts the engine's body out of its framing.
class BodyEnd {
 public:
  explicit BodyEnd(const UpstreamHead& head) : kind_(head.body), left_(head.length) {}

  /// How much of `bytes` belongs to the body with its framing; `payload` gets the body alone if it isn't null.
  Result<std::size_t> take(std::string_view bytes, std::string* payload) {
    if (kind_ == BodyKind::none) return std::size_t{0};
    if (kind_ == BodyKind::counted) {
      const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
      left_ -= n;
      done_ = left_ == 0;
      return n;
    }
    if (kind_ == BodyKind::chunked) return take_chunked(bytes, payload);
    if (payload != nullptr) *payload = bytes;
    return bytes.size();
  }
  [[nodiscard]] bool done() const { return done_ || kind_ == BodyKind::none; }

 private:
  Result<std::size_t> take_chunked(std::string_view bytes, std::string* payload) {
    std::string scratch;
    const Result<std::size_t> used = scanner_.consume(bytes, payload != nullptr ? *payload : scratch);
    if (!used) return fail(Code::upstream_failed, "the engine's answer is malformed: its chunks");
    done_ = scanner_.done();
    return *used;
  }

  BodyKind kind_;
  std::uint64_t left_;
  bool done_ = false;
  api::ChunkScanner scanner_;
};

}  // namespace

Task<bool> Relay::run(const api::RequestHead& head, RequestBody& body, std::string window, EngineAddress engine,
                      Flight& flight) {
  const bool head_only = head.method == "HEAD";
  Outcome outcome = Outcome::failed_before_head;
  for (const bool fresh : {false, true}) {
    Result<UpstreamPtr> upstream = co_await worker_.pool().take(engine, fresh);
    if (!upstream) co_return co_await refuse(upstream.error(), head_only);
    if (flight.cut) co_return co_await refuse({Code::model_loading, "the profile is being switched", {}, {}}, head_only);
    const bool reused = (*upstream)->reused;
    flight.upstream = *upstream;
    outcome = co_await exchange(head, body, window, engine, *upstream);
    flight.upstream.reset();
    if (outcome == Outcome::done && upstream_reusable_) worker_.pool().give_back(engine, *upstream);
    if (outcome != Outcome::done) (*upstream)->close();
    // An idle connection may have been closed at this very moment: once more, where asking twice changes nothing.
    const bool again = outcome == Outcome::failed_before_head && reused && !client_gone_ && !flight.cut &&
                       (head.method == "GET" || head_only);
    if (!again) break;
    received_.clear();
    ending_ = false;
  }
  if (client_gone_ || outcome == Outcome::broken) co_return false;
  if (outcome == Outcome::done) co_return keep_alive_ && body.done();
  if (body_error_) co_return co_await refuse(*body_error_, head_only);
  if (flight.cut) co_return co_await refuse({Code::model_loading, "the profile is being switched", {}, {}}, head_only);
  co_return co_await refuse({Code::upstream_failed, "the engine ended the connection before it answered",
                             "k3ctl status says what happened to it", {}}, head_only);
}

Task<Relay::Outcome> Relay::exchange(const api::RequestHead& head, RequestBody& body, const std::string& window,
                                     const EngineAddress& engine, UpstreamPtr upstream) {
  std::string first = upstream_request(head, engine, client_);
  if (!window.empty()) first += head.chunked ? as_chunk(window) : window;
  if (head.chunked && body.done()) first += kLastChunk;
  const auto [ec, n] = co_await asio::async_write(upstream->socket, asio::buffer(first), tok);
  if (ec) co_return Outcome::failed_before_head;
  TaskGroup side(co_await asio::this_coro::executor);
  side.spawn(client_side(body, head.chunked, upstream));
  const Outcome outcome = co_await download(head, upstream);
  ending_ = true;
  side.cancel();
  co_await side.join();
  co_return outcome;
}

/// What comes from the client while the answer is under way: the rest of the body, then nothing, then its leaving.
Task<void> Relay::client_side(RequestBody& body, bool chunked, UpstreamPtr upstream) {
  co_await asio::this_coro::throw_if_cancelled(false);
  if (!body.done()) co_await upload(body, chunked, upstream);
  std::string piece;
  while (!ending_ && body.done() && pending_.size() < kPipelineLimit) {
    piece.resize(kSmallBuffer);
    const auto [ec, n] = co_await socket_.async_read_some(asio::buffer(piece), tok);
    pending_.append(piece, 0, n);  // a pipelined request: kept for later
    if (ec == asio::error::operation_aborted && ending_) co_return;
    if (!ec) continue;
    client_gone_ = true;
    upstream->close();
    co_return;
  }
}

Task<void> Relay::upload(RequestBody& body, bool chunked, UpstreamPtr upstream) {
  while (!ending_ && !body.done()) {
    const Result<std::string> piece = co_await body.next();
    if (ending_) co_return;
    if (!piece) {
      if (piece.error().code == Code::unreachable) {
        client_gone_ = true;
      } else {
        body_error_ = piece.error();
      }
      upstream->close();
      co_return;
    }
    std::string bytes = chunked && !piece->empty() ? as_chunk(*piece) : *piece;
    if (chunked && body.done()) bytes += kLastChunk;
    const auto [ec, n] = co_await asio::async_write(upstream->socket, asio::buffer(bytes), tok);
    if (ec) co_return;  // the engine may have answered already: the download decides
  }
}

Task<Result<UpstreamHead>> Relay::read_upstream_head(bool head_request, UpstreamPtr upstream) {
  for (;;) {
    const std::size_t end = received_.find("\r\n\r\n");
    if (end != std::string::npos) {
      Result<UpstreamHead> head = parse_upstream_head(std::string_view(received_).substr(0, end + 4), head_request);
      received_.erase(0, end + 4);
      if (!head || head->status >= 200) co_return head;
      continue;  // interim answers are the hop's own business
    }
    if (received_.size() > kHeadLimit) co_return fail(Code::upstream_failed, "the engine's answer has a head over 64 KiB");
    const std::size_t before = received_.size();
    received_.resize(before + kSmallBuffer);
    const auto [ec, n] = co_await upstream->socket.async_read_some(asio::buffer(received_.data() + before, kSmallBuffer), tok);
    received_.resize(before + n);
    if (ec) co_return fail(Code::unreachable, "the engine closed the connection");
  }
}

Task<Relay::Outcome> Relay::download(const api::RequestHead& head, UpstreamPtr upstream) {
  Result<UpstreamHead> answer = co_await read_upstream_head(head.method == "HEAD", upstream);
  if (!answer) {
    if (answer.error().code == Code::upstream_failed && !body_error_) body_error_ = answer.error();
    co_return Outcome::failed_before_head;
  }
  const Delivery delivery = delivery_of(*answer, client_);
  keep_alive_ = client_.keep_alive && delivery != Delivery::close;
  upstream_reusable_ = answer->keep_alive;
  head_sent_ = true;
  std::string head_bytes = client_response(*answer, delivery, client_, keep_alive_);
  co_return co_await deliver(std::move(*answer), delivery, std::move(upstream), std::move(head_bytes));
}

/// `out` is what goes first: head and first bytes leave in one write, and after that one read is one write.
Task<Relay::Outcome> Relay::deliver(UpstreamHead head, Delivery delivery, UpstreamPtr upstream, std::string out) {
  BodyEnd end(head);
  const bool unwrap = head.body == BodyKind::chunked && delivery == Delivery::close;
  const bool wrap = head.body == BodyKind::until_close && delivery == Delivery::chunked;
  std::size_t buffer_bytes = kSmallBuffer;
  for (bool closed = false;;) {
    std::string payload;
    const Result<std::size_t> used = end.take(received_, unwrap ? &payload : nullptr);
    if (!used) co_return Outcome::broken;
    if (*used < received_.size()) upstream_reusable_ = false;
    if (unwrap) out += payload;
    if (wrap && !received_.empty()) out += as_chunk(received_);
    if (!unwrap && !wrap) out.append(received_, 0, *used);
    if (wrap && closed) out += kLastChunk;
    if (!out.empty() && !co_await write_client(std::move(out))) co_return Outcome::broken;
    out.clear();
    if (end.done() || closed) co_return Outcome::done;
    received_.resize(buffer_bytes);
    const auto [ec, n] = co_await upstream->socket.async_read_some(asio::buffer(received_), tok);
    received_.resize(n);
    closed = ec == asio::error::eof && head.body == BodyKind::until_close;
    // A body that breaks off is never completed: the client sees its connection cut.
    if (ec && !closed) co_return Outcome::broken;
    if (n == buffer_bytes) buffer_bytes = kLargeBuffer;
  }
}

Task<bool> Relay::write_client(std::string bytes) {
  watch_.expire_in(kWriteLimit);
  const auto [ec, n] = co_await asio::async_write(socket_, asio::buffer(bytes), tok);
  watch_.never_expire();
  co_return !ec;
}

Task<bool> Relay::refuse(Error error, bool head_only) {
  Answer answer = error_answer(error);
  if (!client_.allowed_origin.empty()) answer.headers.emplace_back("Access-Control-Allow-Origin", client_.allowed_origin);
  std::string bytes = serialise(answer, false, head_only);
  co_await write_client(std::move(bytes));
  co_return false;
}

}  // namespace k3d::proxy
