#include "daemon/planning/gguf_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "daemon/planning/ggml_types.hpp"

namespace k3d::planning {
namespace {

constexpr Bytes kHeadBytes = 24;
constexpr std::uint64_t kLongestTensorName = 63;  // ggml's GGML_MAX_NAME, less the NUL
constexpr std::uint32_t kMostDimensions = 4;
constexpr Bytes kMostData = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view kAlignmentKey = "general.alignment";

Bytes padded(Bytes bytes, Bytes alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Names go into messages, logs and answers as they are.
bool is_printable(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

}  // namespace

GgufParser::GgufParser(std::string name, Bytes file_bytes) : least_(std::min(kHeadBytes, file_bytes)) {
  file_.info.name = std::move(name);
  file_.info.file_bytes = file_bytes;
}

std::optional<GgufParser::Need> GgufParser::need() const {
  if (stage_ == Stage::done) return std::nullopt;
  return Need{position_, least_};
}

Status GgufParser::feed(std::string_view bytes) {
  if (bytes.size() < least_) return fail(Code::internal, file_.info.name + ": fewer bytes than were asked for");
  const Bytes start = position_;
  while (stage_ != Stage::done) {
    GgufCursor in(bytes.substr(std::min<Bytes>(position_ - start, bytes.size())), position_);
    if (const Status read = step(in); !read) return read;
    if (in.lacks()) return ask(in.lacks_until());
    position_ = in.position();
    if (position_ > GgufLimits::header) return endless();
    if (const Status next = next_stage(); !next) return next;
  }
  return {};
}

Status GgufParser::step(GgufCursor& in) {
  switch (stage_) {
    case Stage::head:
      return head(in);
    case Stage::keys:
      return key(in);
    case Stage::skipped_texts:
      return skipped_text(in);
    case Stage::tensors:
      return tensor(in);
    case Stage::done:
      break;
  }
  return {};
}

Status GgufParser::next_stage() {
  if (texts_left_ > 0) {
    stage_ = Stage::skipped_texts;
  } else if (keys_left_ > 0) {
    stage_ = Stage::keys;
  } else if (tensors_left_ > 0) {
    stage_ = Stage::tensors;
  } else {
    stage_ = Stage::done;
    return finish();
  }
  return {};
}

Status GgufParser::ask(Bytes until) {
  if (until > GgufLimits::header) return endless();
  if (until > file_.info.file_bytes) return truncated("header goes", until);
  least_ = until - position_;
  return {};
}

Status GgufParser::head(GgufCursor& in) {
  const std::string_view magic = in.take(4);
  if (in.lacks()) return {};
  if (magic != "GGUF") return damaged(0, "no GGUF file: it doesn't begin with these letters");
  const auto version = in.value<std::uint32_t>();
  const auto tensors = in.value<std::uint64_t>(), keys = in.value<std::uint64_t>();
  if (in.lacks()) return {};
  if ((version & 0xFFFFU) == 0) return damaged(4, "a big-endian file; only little-endian ones are read");
  if (version != 2 && version != 3) return damaged(4, fmt::format("version {} of GGUF; known are 2 and 3", version));
  if (tensors > GgufLimits::tensors) return damaged(8, fmt::format("{} tensors", tensors));
  if (keys > GgufLimits::keys) return damaged(16, fmt::format("{} keys", keys));
  tensors_left_ = tensors;
  keys_left_ = keys;
  return {};
}

// ---- metadata -------------------------------------------------------------------------------------------------------

Status GgufParser::key(GgufCursor& in) {
  const auto length = in.value<std::uint64_t>();
  if (length > GgufLimits::key) return damaged(position_, fmt::format("a key of {} bytes", length));
  const std::string name(in.take(length));
  const Bytes type_at = in.position();
  const auto type = static_cast<GgufType>(in.value<std::uint32_t>());
  if (in.lacks()) return {};
  if (!is_printable(name)) return damaged(position_, "a key that isn't printable");
  if (name == kAlignmentKey && type != GgufType::u32) return damaged(type_at, "general.alignment is no u32");
  if (type == GgufType::text) return text(in, name);
  if (type == GgufType::array) return array(in, name);
  if (bytes_of(type) > 0) return single(in, name, type);
  return damaged(type_at, fmt::format("{} has type {}, which is none", name, std::to_underlying(type)));
}

Status GgufParser::text(GgufCursor& in, const std::string& key) {
  const Bytes at = in.position();
  const auto length = in.value<std::uint64_t>();
  if (length > GgufLimits::text) return damaged(at, fmt::format("{} is a text of {} bytes", key, length));
  std::string value(in.take(length));
  if (in.lacks()) return {};
  return store(key, std::move(value));
}

Status GgufParser::single(GgufCursor& in, const std::string& key, GgufType type) {
  const Bytes at = in.position();
  const std::optional<MetadataValue> value = read_value(type, in);
  if (in.lacks()) return {};
  if (!value) return damaged(at, key + " is 2^63 or more");
  if (key == kAlignmentKey) {
    const auto alignment = static_cast<Bytes>(std::get<std::int64_t>(*value));
    if (!std::has_single_bit(alignment)) return damaged(at, fmt::format("an alignment of {} bytes", alignment));
    alignment_ = alignment;
  }
  return store(key, *value);
}

Status GgufParser::array(GgufCursor& in, const std::string& key) {
  const Bytes at = in.position();
  const auto type = static_cast<GgufType>(in.value<std::uint32_t>());
  const auto count = in.value<std::uint64_t>();
  if (in.lacks()) return {};
  if (type == GgufType::array) return damaged(at, key + " is an array of arrays");
  const bool texts = type == GgufType::text;
  const Bytes each = texts ? sizeof(std::uint64_t) : bytes_of(type);
  if (each == 0)
    return damaged(at, fmt::format("{} has elements of type {}, which is none", key, std::to_underlying(type)));
  if (count > GgufLimits::header / each) return damaged(at + 4, fmt::format("{} has {} elements", key, count));
  if (count <= GgufLimits::kept_elements) {
    // In one piece: it begins anew when bytes lack, and should not for each element.
    if (!in.has(count * each)) return {};
    return texts ? kept_texts(in, key, count) : kept_numbers(in, key, type, count);
  }
  if (texts) {
    texts_left_ = count;
  } else {
    in.skip(count * each);
  }
  return store(key, SkippedArray{count});
}

Status GgufParser::kept_numbers(GgufCursor& in, const std::string& key, GgufType type, std::uint64_t count) {
  std::vector<std::int64_t> whole;
  std::vector<double> real;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Bytes at = in.position();
    const std::optional<MetadataValue> value = read_value(type, in);
    if (!value) return damaged(at, key + " holds 2^63 or more");
    if (const auto* number = std::get_if<double>(&*value)) {
      real.push_back(*number);
    } else {
      const auto* flag = std::get_if<bool>(&*value);
      whole.push_back(flag ? std::int64_t{*flag} : std::get<std::int64_t>(*value));
    }
  }
  if (in.lacks()) return {};
  const bool is_real = type == GgufType::f32 || type == GgufType::f64;
  return is_real ? store(key, std::move(real)) : store(key, std::move(whole));
}

Status GgufParser::kept_texts(GgufCursor& in, const std::string& key, std::uint64_t count) {
  std::vector<std::string> texts;
  Bytes total = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Bytes at = in.position();
    const auto length = in.value<std::uint64_t>();
    // Together, since they are read in one piece.
    if (length > GgufLimits::text - total) return damaged(at, key + " holds more than 4 MiB of texts");
    total += length;
    texts.emplace_back(in.take(length));
    if (in.lacks()) return {};
  }
  return store(key, std::move(texts));
}

Status GgufParser::skipped_text(GgufCursor& in) {
  const auto length = in.value<std::uint64_t>();
  if (in.lacks()) return {};
  if (length > GgufLimits::text) return damaged(position_, fmt::format("an element of {} bytes", length));
  in.skip(length);
  --texts_left_;
  return {};
}

Status GgufParser::store(const std::string& key, MetadataValue value) {
  if (!file_.metadata.emplace(key, std::move(value)).second) return damaged(position_, key + " is there twice");
  --keys_left_;
  return {};
}

// ---- tensors --------------------------------------------------------------------------------------------------------

Status GgufParser::tensor(GgufCursor& in) {
  const auto length = in.value<std::uint64_t>();
  if (length > kLongestTensorName) return damaged(position_, fmt::format("a tensor name of {} bytes", length));
  TensorInfo tensor;
  tensor.name = in.take(length);
  const auto dimensions = in.value<std::uint32_t>();
  if (dimensions > kMostDimensions) {
    return damaged(position_, fmt::format("tensor {} has {} dimensions", tensor.name, dimensions));
  }
  for (std::uint32_t i = 0; i < dimensions; ++i) tensor.ne[i] = in.value<std::int64_t>();
  tensor.type = in.value<std::uint32_t>();
  const auto offset = in.value<std::uint64_t>();
  if (in.lacks()) return {};
  return place(std::move(tensor), offset);
}

Status GgufParser::place(TensorInfo tensor, Bytes offset) {
  if (!is_printable(tensor.name)) return damaged(position_, "a tensor whose name isn't printable");
  if (!names_.insert(tensor.name).second) return damaged(position_, "tensor " + tensor.name + " is there twice");
  const Result<Bytes> bytes = tensor_bytes(tensor.type, tensor.ne);
  if (!bytes) return damaged(position_, "tensor " + tensor.name + ": " + bytes.error().message);
  // ggml wants them in order and without gaps, which leaves no room for overlaps.
  if (offset != data_end_) {
    return damaged(position_,
                   fmt::format("tensor {} begins at {} of the data; it must be {}, where the one before it ends",
                               tensor.name, offset, data_end_));
  }
  if (*bytes > kMostData - data_end_) return damaged(position_, "the tensors have more than 2^63 bytes");
  data_end_ = padded(data_end_ + *bytes, alignment_);
  tensor.bytes = *bytes;
  tensor.offset = offset;
  file_.tensors.push_back(std::move(tensor));
  --tensors_left_;
  return {};
}

Status GgufParser::finish() {
  // A file without tensors ends with its header, and nothing pads that.
  const Bytes begin = file_.tensors.empty() ? position_ : padded(position_, alignment_);
  if (position_ > file_.info.file_bytes) return truncated("header goes", position_);
  file_.info.header_bytes = begin;
  for (TensorInfo& tensor : file_.tensors) tensor.offset += begin;
  if (file_.tensors.empty()) return {};
  const TensorInfo& last = file_.tensors.back();
  if (last.offset + last.bytes > file_.info.file_bytes) return truncated("tensors go", last.offset + last.bytes);
  return {};
}

// ---- errors ---------------------------------------------------------------------------------------------------------

std::unexpected<Error> GgufParser::damaged(Bytes at, const std::string& what) const {
  return fail(Code::model_corrupt, fmt::format("{}, byte {}: {}", file_.info.name, at, what),
              "check the file against its hash, and get it again");
}

std::unexpected<Error> GgufParser::endless() const {
  return damaged(position_, "the header goes on past 64 MiB");
}

std::unexpected<Error> GgufParser::truncated(std::string_view part, Bytes needed) const {
  return fail(Code::model_truncated,
              fmt::format("{} is cut short: it has {} bytes, and its {} on to byte {}", file_.info.name,
                          file_.info.file_bytes, part, needed),
              "finish its download, or get it again");
}

}  // namespace k3d::planning
