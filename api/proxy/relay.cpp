#include "api/proxy/relay.hpp"

#include <boost/asio/write.hpp>
#include <exception>

#include "api/proxy/answers.hpp"
#include "daemon/base/async/task_group.hpp"

namespace k3d::proxy {
namespace {

constexpr std::size_t kHeadLimit = 64 * kKiB;
constexpr std::size_t kSmallBuffer = 16 * kKiB;
constexpr std::size_t kLargeBuffer = 256 * kKiB;
constexpr std::size_t kWatchBuffer = 2 * kKiB;  ///< clients seldom say anything while they are answered
constexpr std::size_t kPipelineLimit = 64 * kKiB;
constexpr int kRetryAfterCut = 30;  ///< seconds: the new profile's load has not begun, nobody knows how long it takes

/// Cuts the engine's body out of its framing.
class BodyEnd {
 public:
  explicit BodyEnd(const UpstreamHead& head) : kind_(head.body), left_(head.length.value_or(0)) {}

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
    const Result<std::size_t> used = payload != nullptr ? scanner_.consume(bytes, *payload) : scanner_.skip(bytes);
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
  std::string first = upstream_request(head, engine, client_);
  if (!window.empty()) first += head.chunked ? as_chunk(window) : window;
  if (head.chunked && body.done()) first += kLastChunk;
  Outcome outcome = Outcome::failed_before_head;
  for (const bool fresh : {false, true}) {
    Result<UpstreamPtr> taken = co_await worker_.pool().take(engine, fresh, worker_.limits().connect, flight.cut);
    if (!taken || flight.cut) co_return co_await refuse(flight.cut ? what_failed(flight) : taken.error(), head_only);
    const UpstreamPtr upstream = std::move(*taken);
    flight.upstream = upstream;
    outcome = co_await exchange(head, body, first, upstream);
    flight.upstream.reset();
    if (outcome == Outcome::done && upstream_reusable_ && uploaded_) {
      worker_.pool().give_back(engine, upstream);
    } else {
      upstream->close();
    }
    if (outcome != Outcome::failed_before_head || !may_ask_again(head, flight, upstream->reused)) break;
  }
  if (outcome == Outcome::done) co_return keep_alive_&& body.done() && !client_gone_;
  if (outcome == Outcome::failed_before_head && !client_gone_)
    co_return co_await refuse(what_failed(flight), head_only);
  if (delivery_ == Delivery::close && !client_gone_) {
    // The end of the connection is the end of this body: only a reset says that it isn't whole.
    boost::system::error_code ignored;
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
    socket_.close(ignored);
  }
  co_return false;
}

/// An idle connection may have been closed at this very moment: once more, where asking twice changes nothing.
bool Relay::may_ask_again(const api::RequestHead& head, const Flight& flight, bool reused) const {
  if (!reused || got_any_ || error_ || body_begun_ || client_gone_ || flight.cut) return false;
  return !sent_any_ || head.method == "GET" || head.method == "HEAD";
}

Error Relay::what_failed(const Flight& flight) const {
  if (error_) return *error_;
  if (flight.cut) return {Code::model_loading, "the profile is being switched", {}, {}};
  return {Code::upstream_failed,
          "the engine ended the connection before it answered",
          "k3ctl status says what happened to it",
          {}};
}

Task<Relay::Outcome> Relay::exchange(const api::RequestHead& head, RequestBody& body, std::string first,
                                     UpstreamPtr upstream) {
  TaskGroup side(co_await asio::this_coro::executor);
  ending_ = uploaded_ = false;
  side.spawn(client_side(std::move(first), body, head.chunked, upstream));
  Outcome outcome = Outcome::broken;
  std::exception_ptr failed;
  try {
    outcome = co_await download(head, body, upstream);
  } catch (...) {
    failed = std::current_exception();  // the client's side refers to this frame: it ends first
  }
  ending_ = true;
  side.cancel();
  co_await side.join();
  if (failed) std::rethrow_exception(failed);
  co_return outcome;
}

/// What goes to the engine, and what comes from the client while the answer is under way: the rest of the body, then
/// nothing or the next request, then its leaving.
Task<void> Relay::client_side(std::string first, RequestBody& body, bool chunked, UpstreamPtr upstream) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await upload(std::move(first), body, chunked, upstream);
  std::string piece;
  while (!ending_ && body.done() && pending_.size() < kPipelineLimit) {
    piece.resize(kWatchBuffer);
    const auto [ec, n] = co_await socket_.async_read_some(asio::buffer(piece), tok);
    pending_.append(piece, 0, n);  // a pipelined request: kept for later
    if (!ec || ending_) continue;
    client_left(upstream);
    co_return;
  }
}

/// The engine stops at once, and a write that the client doesn't read any more ends too.
void Relay::client_left(const UpstreamPtr& upstream) {
  client_gone_ = true;
  upstream->close();
  boost::system::error_code ignored;
  socket_.close(ignored);
}

Task<void> Relay::upload(std::string first, RequestBody& body, bool chunked, UpstreamPtr upstream) {
  for (std::string bytes = std::move(first);;) {
    const auto [ec, n] = co_await asio::async_write(upstream->socket, asio::buffer(bytes), tok);
    sent_any_ = sent_any_ || n > 0;
    uploaded_ = !ec && body.done();
    if (ec || ending_ || body.done()) co_return;  // the engine may have answered already: the download decides
    body_begun_ = true;
    const Result<std::string> piece = co_await body.next();
    if (ending_) co_return;
    if (!piece && piece.error().code == Code::unreachable) client_left(upstream);
    if (!piece && !client_gone_) {
      error_ = piece.error();
      upstream->close();
    }
    if (!piece) co_return;
    bytes = chunked && !piece->empty() ? as_chunk(*piece) : *piece;
    if (chunked && body.done()) bytes += kLastChunk;
  }
}

Task<Result<UpstreamHead>> Relay::read_upstream_head(bool head_request, UpstreamPtr upstream) {
  for (;;) {
    const std::size_t end = received_.find("\r\n\r\n");
    if (end != std::string::npos) {
      Result<UpstreamHead> head = parse_upstream_head(std::string_view(received_).substr(0, end + 4), head_request);
      received_.erase(0, end + 4);
      if (head && head->status == 101) co_return fail(Code::upstream_failed, "the engine changes the protocol unasked");
      if (!head || head->status >= 200) co_return head;
      continue;  // interim answers are the hop's own business
    }
    if (received_.size() > kHeadLimit)
      co_return fail(Code::upstream_failed, "the engine's answer has a head over 64 KiB");
    const std::size_t before = received_.size();
    received_.resize(before + kSmallBuffer);
    const auto [ec, n] =
        co_await upstream->socket.async_read_some(asio::buffer(received_.data() + before, kSmallBuffer), tok);
    received_.resize(before + n);
    got_any_ = got_any_ || n > 0;
    if (ec) co_return fail(Code::unreachable, "the engine closed the connection");
  }
}

Task<Relay::Outcome> Relay::download(const api::RequestHead& head, const RequestBody& body, UpstreamPtr upstream) {
  Result<UpstreamHead> answer = co_await read_upstream_head(head.method == "HEAD", upstream);
  if (!answer) {
    if (answer.error().code == Code::upstream_failed && !error_) error_ = answer.error();
    co_return Outcome::failed_before_head;
  }
  delivery_ = delivery_of(*answer, client_);
  // An answer before the body's end: what of the body still comes is nobody's, so the connection ends.
  keep_alive_ = client_.keep_alive && delivery_ != Delivery::close && body.done() && !worker_.retiring();
  // llama-server ends the connection behind a chunked answer, unannounced and perhaps only a moment later.
  upstream_reusable_ = answer->keep_alive && answer->body != BodyKind::chunked;
  std::string head_bytes = client_response(*answer, delivery_, client_, keep_alive_);
  co_return co_await deliver(std::move(*answer), std::move(upstream), std::move(head_bytes));
}

/// `out` is what goes first: head and first bytes leave in one write, and after that one read is one write. Nothing is
/// read from the engine while the client doesn't take what there is.
Task<Relay::Outcome> Relay::deliver(UpstreamHead head, UpstreamPtr upstream, std::string out) {
  BodyEnd end(head);
  const bool unwrap = head.body == BodyKind::chunked && delivery_ == Delivery::close;
  const bool wrap = head.body == BodyKind::until_close && delivery_ == Delivery::chunked;
  std::size_t buffer_bytes = kSmallBuffer;
  for (bool closed = false, begun = false;; begun = true) {
    std::string payload;
    const Result<std::size_t> used = end.take(received_, unwrap ? &payload : nullptr);
    if (!used && !begun) error_ = used.error();  // nothing is sent yet: the client can be told
    if (!used) co_return begun ? Outcome::broken : Outcome::failed_before_head;
    if (*used < received_.size()) upstream_reusable_ = false;
    if (unwrap) out += payload;
    if (wrap && !received_.empty()) out += as_chunk(received_);
    if (wrap && closed) out += kLastChunk;
    std::string_view bytes = out;
    if (!unwrap && !wrap && out.empty()) {
      bytes = std::string_view(received_).substr(0, *used);
    } else if (!unwrap && !wrap) {
      out.append(received_, 0, *used);
      bytes = out;
    }
    if (!bytes.empty() && !co_await write_client(bytes)) co_return Outcome::broken;
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

Task<bool> Relay::write_client(std::string_view bytes) {
  watch_.write_within(worker_.limits().write);
  const auto [ec, n] = co_await asio::async_write(socket_, asio::buffer(bytes), tok);
  watch_.write_any_time();
  co_return !ec;
}

Task<bool> Relay::refuse(Error error, bool head_only) {
  Answer answer = error_answer(error);
  if (error.code == Code::model_loading) answer.headers.emplace_back("Retry-After", std::to_string(kRetryAfterCut));
  if (!client_.allowed_origin.empty())
    answer.headers.emplace_back("Access-Control-Allow-Origin", client_.allowed_origin);
  std::string bytes = serialise(answer, false, head_only);
  co_await write_client(bytes);
  co_return false;
}

}  // namespace k3d::proxy
