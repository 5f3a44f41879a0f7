#include "api/proxy/request_body.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace k3d::proxy {
namespace {

constexpr std::size_t kReadBytes = 64 * kKiB;
constexpr milliseconds kMostPatience{300'000};

}  // namespace

RequestBody::RequestBody(asio::ip::tcp::socket& socket, Worker::Watch& watch, std::string& pending,
                         const api::RequestHead& head, Bytes limit, milliseconds patience)
    : socket_(socket),
      watch_(watch),
      pending_(pending),
      chunked_(head.chunked),
      left_(head.content_length.value_or(0)),
      limit_(limit),
      patience_(patience),
      done_(!head.chunked && left_ == 0) {}

Task<Result<std::string>> RequestBody::next() {
  for (;;) {
    Result<std::string> payload = decode();
    if (!payload || !payload->empty() || done_) co_return payload;
    // A cancellation between two reads finds none to end.
    const asio::cancellation_state asked_to_end = co_await asio::this_coro::cancellation_state;
    if (asked_to_end.cancelled() != asio::cancellation_type::none)
      co_return fail(Code::unreachable, "nobody waits for the body");
    std::string piece(kReadBytes, '\0');
    // Only the time that the client lets k3d wait counts: while the engine doesn't take the body, nobody is slow.
    const SteadyTime asked = std::chrono::steady_clock::now();
    watch_.read_within(patience_);
    const auto [ec, n] = co_await socket_.async_read_some(asio::buffer(piece), tok);
    watch_.read_any_time();
    patience_ -= std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - asked);
    patience_ = std::min(patience_ + milliseconds(n * 1000 / kKiB), std::max(kMostPatience, patience_));
    if (ec || n == 0) co_return fail(Code::unreachable, "the client is gone");
    pending_.append(piece, 0, n);
  }
}

Result<std::string> RequestBody::decode() {
  std::string payload;
  if (done_ || pending_.empty()) return payload;
  if (chunked_) {
    const Result<std::size_t> used = scanner_.consume(pending_, payload);
    if (!used) return fail(used.error());
    pending_.erase(0, *used);
    done_ = scanner_.done();
  } else {
    const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, pending_.size()));
    payload = pending_.substr(0, n);
    pending_.erase(0, n);
    left_ -= n;
    done_ = left_ == 0;
  }
  received_ += payload.size();
  if (received_ > limit_) {
    return fail(Code::body_too_large, "the body is over " + format_bytes(limit_),
                "proxy.max_body_bytes sets the limit");
  }
  return payload;
}

std::string as_chunk(const std::string& payload) {
  return fmt::format("{:x}\r\n", payload.size()) + payload + "\r\n";
}

}  // namespace k3d::proxy
