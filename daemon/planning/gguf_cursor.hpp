// Little-endian values from a window of a file, at positions of the file. Past the window's end it gives zeros and
// says what it lacked, so that whoever reads needs one check per group of values.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "daemon/base/units.hpp"

namespace k3d::planning {

class GgufCursor {
 public:
  /// `window` is what the file holds from `start` on.
  GgufCursor(std::string_view window, Bytes start) : window_(window), start_(start), position_(start) {}

  [[nodiscard]] Bytes position() const { return position_; }
  /// Where the bytes would have to end for everything that was asked; nothing lacks while it is 0.
  [[nodiscard]] Bytes lacks_until() const { return lacks_until_; }
  [[nodiscard]] bool lacks() const { return lacks_until_ > 0; }

  template <class T>
  T value() {
    static_assert(std::is_arithmetic_v<T> && std::endian::native == std::endian::little);
    T out{};
    const std::string_view bytes = take(sizeof(T));
    if (!bytes.empty()) std::memcpy(&out, bytes.data(), sizeof(T));
    return out;
  }

  /// The next `length` bytes; empty if they aren't all there. The caller has bounded `length`.
  std::string_view take(Bytes length) {
    if (lacks()) return {};
    const Bytes at = position_ - start_;
    if (at > window_.size() || length > window_.size() - at) {
      lacks_until_ = position_ + length;
      return {};
    }
    position_ += length;
    return window_.substr(at, length);
  }

  /// Whether the next `length` bytes are there; else they are what it lacks. The caller has bounded `length`.
  bool has(Bytes length) {
    GgufCursor ahead = *this;
    ahead.take(length);
    lacks_until_ = ahead.lacks_until_;
    return !lacks();
  }

  /// Moves on, also past the window. The caller has bounded `length`.
  void skip(Bytes length) {
    if (!lacks()) position_ += length;
  }

 private:
  std::string_view window_;
  Bytes start_;
  Bytes position_;
  Bytes lacks_until_ = 0;
};

}  // namespace k3d::planning
