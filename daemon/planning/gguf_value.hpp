// The types of GGUF metadata values and how one of them is read. Not here: texts and arrays, which have lengths that
// the parser bounds.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/planning/gguf_cursor.hpp"
#include "daemon/planning/model_headers.hpp"

namespace k3d::planning {

enum class GgufType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

/// Bytes of one value; 0 for texts, arrays, and what is no type.
Bytes bytes_of(GgufType type);

/// A value of a type with bytes. Nothing if it is past what std::int64_t holds.
std::optional<MetadataValue> read_value(GgufType type, GgufCursor& in);

}  // namespace k3d::planning
