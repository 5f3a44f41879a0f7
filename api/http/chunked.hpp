// Where a chunked body ends, and what is in it: incremental, strict, pure (RFC 9112, 7.1).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/base/result.hpp"

namespace k3d::api {

class ChunkScanner {
 public:
  /// Reads on in `bytes`, appends the payload to `payload`, and says how many bytes belong to the body. Error
  /// invalid_request: no size, a size over 2^60, an extension or trailer section over 4 KiB, a bad terminator.
  Result<std::size_t> consume(std::string_view bytes, std::string& payload);
  /// As consume(), without collecting the payload.
  Result<std::size_t> skip(std::string_view bytes);
  /// The last chunk and its trailers are read.
  [[nodiscard]] bool done() const { return state_ == State::done; }

 private:
  enum class State { size, extension, size_lf, data, data_cr, data_lf, trailer, trailer_lf, last_lf, done };

  Result<std::size_t> read(std::string_view bytes, std::string* payload);
  Status step(char c);
  Status on_size(char c);
  Status on_trailer(char c);

  State state_ = State::size;
  std::uint64_t size_ = 0;
  int digits_ = 0;
  std::size_t extra_ = 0;   ///< bytes of extensions and trailers so far
  bool line_empty_ = true;  ///< of the trailer line
};

}  // namespace k3d::api
