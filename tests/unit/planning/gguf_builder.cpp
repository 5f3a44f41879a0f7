#include "tests/unit/planning/gguf_builder.hpp"

#include "daemon/planning/ggml_types.hpp"

namespace k3d::planning::test {

std::string gguf_text(std::string_view text) {
  return bytes_of_value<std::uint64_t>(text.size()) + std::string(text);
}

GgufBuilder& GgufBuilder::key(std::string_view name, GgufType type, const std::string& value) {
  keys_ += gguf_text(name) + bytes_of_value(type) + value;
  ++keys_count_;
  return *this;
}

GgufBuilder& GgufBuilder::text(std::string_view name, std::string_view value) {
  return key(name, GgufType::text, gguf_text(value));
}

std::string GgufBuilder::array_head(GgufType type, std::uint64_t count) {
  return bytes_of_value(type) + bytes_of_value(count);
}

GgufBuilder& GgufBuilder::texts(std::string_view name, const std::vector<std::string>& values) {
  std::string bytes = array_head(GgufType::text, values.size());
  for (const std::string& value : values) bytes += gguf_text(value);
  return key(name, GgufType::array, bytes);
}

GgufBuilder& GgufBuilder::split(std::uint16_t number, std::uint16_t count, std::int32_t tensors) {
  this->number("split.no", GgufType::u16, number);
  this->number("split.count", GgufType::u16, count);
  return this->number("split.tensors.count", GgufType::i32, tensors);
}

GgufBuilder& GgufBuilder::tensor(std::string_view name, std::uint32_t type, const std::vector<std::int64_t>& ne,
                                 std::optional<std::uint64_t> offset) {
  tensors_ += gguf_text(name) + bytes_of_value(static_cast<std::uint32_t>(ne.size()));
  std::array<std::int64_t, 4> whole{1, 1, 1, 1};
  for (std::size_t i = 0; i < ne.size(); ++i) {
    tensors_ += bytes_of_value(ne[i]);
    if (i < whole.size()) whole[i] = ne[i];
  }
  tensors_ += bytes_of_value(type) + bytes_of_value(offset.value_or(data_));
  data_ += (tensor_bytes(type, whole).value_or(0) + alignment - 1) / alignment * alignment;
  ++tensors_count_;
  return *this;
}

std::string GgufBuilder::header() const {
  return magic + bytes_of_value(version) + bytes_of_value(count_tensors.value_or(tensors_count_)) +
         bytes_of_value(count_keys.value_or(keys_count_)) + keys_ + tensors_;
}

std::string GgufBuilder::file() const {
  std::string content = header();
  if (tensors_count_ == 0) return content;
  content.resize((content.size() + alignment - 1) / alignment * alignment + data_);
  return content;
}

MemorySource::MemorySource(std::string content, std::string name)
    : content_(std::move(content)), name_(std::move(name)), size_(content_.size()) {}

Result<std::string> MemorySource::read(Bytes offset, Bytes length) {
  if (offset > size_ || length > size_ - offset) return fail(Code::internal, "read past the end");
  ++reads_;
  bytes_read_ += length;
  std::string bytes = offset < content_.size() ? content_.substr(offset, length) : std::string();
  bytes.resize(length);
  return bytes;
}

Result<GgufFile> parse(const std::string& content) {
  MemorySource source(content);
  return read_gguf(source);
}

Result<GgufFile> parse_slowly(const std::string& content) {
  GgufParser parser("m.gguf", content.size());
  while (const auto need = parser.need()) {
    if (const Status fed = parser.feed(content.substr(need->offset, need->least)); !fed)
      return std::unexpected(fed.error());
  }
  return parser.take();
}

}  // namespace k3d::planning::test
