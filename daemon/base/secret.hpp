// A secret that can't be printed by accident: no stream, no formatter, compared in constant time.
#pragma once

#include <string>
#include <string_view>

namespace k3d {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}

  /// The bytes, for the one place that must send them.
  [[nodiscard]] const std::string& reveal() const { return value_; }
  [[nodiscard]] bool empty() const { return value_.empty(); }
  /// Takes the same time wherever the two differ; false for an empty secret.
  [[nodiscard]] bool matches(std::string_view candidate) const;

 private:
  std::string value_;
};

/// `bytes` of the kernel's randomness as lower-case hexadecimal digits.
std::string random_hex(std::size_t bytes);

}  // namespace k3d
