// Makes GGUF files in memory, right ones and, where a test asks for it, wrong ones.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/planning/gguf_reader.hpp"

namespace k3d::planning::test {

/// Appends `value` as it lies in memory, which is little-endian.
template <class T>
std::string bytes_of_value(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

std::string gguf_text(std::string_view text);

class GgufBuilder {
 public:
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  Bytes alignment = 32;                                    ///< of the layout; the key is written by whoever wants it
  std::optional<std::uint64_t> count_tensors, count_keys;  ///< instead of the true ones

  GgufBuilder& key(std::string_view name, GgufType type, const std::string& value);
  template <class T>
  GgufBuilder& number(std::string_view name, GgufType type, T value) {
    return key(name, type, bytes_of_value(value));
  }
  GgufBuilder& text(std::string_view name, std::string_view value);
  template <class T>
  GgufBuilder& array(std::string_view name, GgufType type, const std::vector<T>& values) {
    std::string bytes = array_head(type, values.size());
    for (const T& value : values) bytes += bytes_of_value(value);
    return key(name, GgufType::array, bytes);
  }
  GgufBuilder& texts(std::string_view name, const std::vector<std::string>& values);
  GgufBuilder& split(std::uint16_t number, std::uint16_t count, std::int32_t tensors);

  GgufBuilder& tensor(std::string_view name, std::uint32_t type, const std::vector<std::int64_t>& ne,
                      std::optional<std::uint64_t> offset = {});

  [[nodiscard]] std::string header() const;
  /// With zeros for the tensors' data.
  [[nodiscard]] std::string file() const;

  static std::string array_head(GgufType type, std::uint64_t count);

 private:
  std::string keys_, tensors_;
  std::uint64_t keys_count_ = 0, tensors_count_ = 0;
  Bytes data_ = 0;
};

/// A file in memory. Counts its reads; `size` may be larger than `content`, which then goes on with zeros.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string content, std::string name = "m.gguf");

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Bytes size() const override { return size_; }
  Result<std::string> read(Bytes offset, Bytes length) override;

  void set_size(Bytes size) { size_ = size; }
  [[nodiscard]] int reads() const { return reads_; }
  [[nodiscard]] Bytes bytes_read() const { return bytes_read_; }

 private:
  std::string content_, name_;
  Bytes size_;
  int reads_ = 0;
  Bytes bytes_read_ = 0;
};

Result<GgufFile> parse(const std::string& content);
/// Fed with no byte more than it asks for.
Result<GgufFile> parse_slowly(const std::string& content);

}  // namespace k3d::planning::test
