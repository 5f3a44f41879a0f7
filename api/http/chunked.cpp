#include "api/http/chunked.hpp"

#include <algorithm>

#include "api/http/field_syntax.hpp"

namespace k3d::api {
namespace {

constexpr int kMostDigits = 15;
constexpr std::size_t kExtraLimit = 4096;

std::unexpected<Error> bad(const char* what) {
  return fail(Code::invalid_request, std::string("the chunked body is malformed: ") + what);
}

bool control(char c) {
  return has_control_byte(std::string_view(&c, 1));
}

}  // namespace

Result<std::size_t> ChunkScanner::consume(std::string_view bytes, std::string& payload) {
  return read(bytes, &payload);
}

Result<std::size_t> ChunkScanner::skip(std::string_view bytes) {
  return read(bytes, nullptr);
}

Result<std::size_t> ChunkScanner::read(std::string_view bytes, std::string* payload) {
  std::size_t at = 0;
  while (at < bytes.size() && state_ != State::done) {
    if (state_ == State::data) {
      const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(size_, bytes.size() - at));
      if (payload != nullptr) payload->append(bytes, at, n);
      at += n;
      size_ -= n;
      if (size_ == 0) state_ = State::data_cr;
      continue;
    }
    if (Status ok = step(bytes[at]); !ok) return fail(ok.error());
    ++at;
  }
  return at;
}

Status ChunkScanner::on_size(char c) {
  if (const int digit = hex_digit(c); digit >= 0) {
    if (++digits_ > kMostDigits) return bad("a size that is too large");
    size_ = size_ * 16 + static_cast<std::uint64_t>(digit);
    return {};
  }
  if (digits_ == 0) return bad("a chunk without a size");
  if (c == '\r') {
    state_ = State::size_lf;
  } else if (c == ';') {
    state_ = State::extension;
  } else {
    return bad("a size with other bytes in it");
  }
  return {};
}

Status ChunkScanner::on_trailer(char c) {
  if (c == '\r') {
    state_ = line_empty_ ? State::last_lf : State::trailer_lf;
    return {};
  }
  if (control(c) || ++extra_ > kExtraLimit) return bad("its trailers");
  line_empty_ = false;
  return {};
}

Status ChunkScanner::step(char c) {
  switch (state_) {
    case State::size:
      return on_size(c);
    case State::extension:
      if (c == '\r') {
        state_ = State::size_lf;
        return {};
      }
      if (control(c) || ++extra_ > kExtraLimit) return bad("its chunk extensions");
      return {};
    case State::size_lf:
      if (c != '\n') return bad("a CR without LF");
      state_ = size_ == 0 ? State::trailer : State::data;
      digits_ = 0;
      line_empty_ = true;
      return {};
    case State::data_cr:
      if (c != '\r') return bad("a chunk that is longer than its size");
      state_ = State::data_lf;
      return {};
    case State::data_lf:
      if (c != '\n') return bad("a CR without LF");
      state_ = State::size;
      return {};
    case State::trailer:
      return on_trailer(c);
    case State::trailer_lf:
      if (c != '\n') return bad("a CR without LF");
      line_empty_ = true;
      state_ = State::trailer;
      return {};
    case State::last_lf:
      if (c != '\n') return bad("a CR without LF");
      state_ = State::done;
      return {};
    case State::data:
    case State::done:
      return {};
  }
  return {};
}

}  // namespace k3d::api
