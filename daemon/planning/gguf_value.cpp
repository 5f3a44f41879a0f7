#include "daemon/planning/gguf_value.hpp"

#include <array>
#include <utility>

namespace k3d::planning {
namespace {

constexpr std::array<Bytes, 13> kBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

template <class T>
MetadataValue whole(GgufCursor& in) {
  return static_cast<std::int64_t>(in.value<T>());
}

}  // namespace

Bytes bytes_of(GgufType type) {
  const auto index = std::to_underlying(type);
  return index < kBytes.size() ? kBytes[index] : 0;
}

std::optional<MetadataValue> read_value(GgufType type, GgufCursor& in) {
  switch (type) {
    case GgufType::u8:
      return whole<std::uint8_t>(in);
    case GgufType::i8:
      return whole<std::int8_t>(in);
    case GgufType::u16:
      return whole<std::uint16_t>(in);
    case GgufType::i16:
      return whole<std::int16_t>(in);
    case GgufType::u32:
      return whole<std::uint32_t>(in);
    case GgufType::i32:
      return whole<std::int32_t>(in);
    case GgufType::i64:
      return whole<std::int64_t>(in);
    case GgufType::f32:
      return static_cast<double>(in.value<float>());
    case GgufType::f64:
      return in.value<double>();
    case GgufType::boolean:
      return in.value<std::uint8_t>() != 0;  // as ggml reads it
    case GgufType::u64: {
      const auto value = in.value<std::uint64_t>();
      if (!std::in_range<std::int64_t>(value)) return std::nullopt;
      return static_cast<std::int64_t>(value);
    }
    case GgufType::text:
    case GgufType::array:
      break;
  }
  return std::nullopt;
}

}  // namespace k3d::planning
