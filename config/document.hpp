// YAML text as a small tree that remembers where everything stands. The only file that includes yaml-cpp is its .cpp.
// Bounded in depth and in size after aliases, so that no text can cost more than a second and a few dozen megabytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace k3d::config {

class Reporter;

/// Where something was written, counted from 1.
struct Place {
  int line = 1, column = 1;
};

struct Node {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  Place place;
  std::string text;              ///< of a scalar
  bool quoted = false;           ///< a scalar in quotes or a block scalar: never a number, a boolean or null
  bool comment_follows = false;  ///< a plain scalar with a comment behind it on its line
  std::vector<Node> keys;        ///< of a map, one for each item
  std::vector<Node> items;       ///< of a list, or the values of a map
};

inline constexpr std::size_t kMaxDepth = 32;
inline constexpr std::size_t kMaxNodes = 20'000;
inline constexpr std::size_t kMaxExpandedBytes = 4U << 20U;

/// The one document in `text`; an empty map if there is none, nothing after a mistake of syntax, which is reported.
std::optional<Node> parse_document(std::string_view text, Reporter& reporter);

}  // namespace k3d::config
