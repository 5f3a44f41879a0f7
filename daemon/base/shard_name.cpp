#include "daemon/base/shard_name.hpp"

#include <fmt/format.h>

#include <charconv>

namespace k3d {
namespace {

constexpr std::string_view kEnding = "-00001-of-00001.gguf";

/// Exactly five digits, over zero.
std::optional<int> five_digits(std::string_view text) {
  int number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc() || end != text.data() + text.size() || text[0] == '-' || number < 1) return std::nullopt;
  return number;
}

}  // namespace

std::optional<ShardName> parse_shard_name(std::string_view file_name) {
  if (file_name.size() <= kEnding.size()) return std::nullopt;
  const std::string_view ending = file_name.substr(file_name.size() - kEnding.size());
  if (ending[0] != '-' || ending.substr(6, 4) != "-of-" || ending.substr(15) != ".gguf") return std::nullopt;
  const auto number = five_digits(ending.substr(1, 5)), count = five_digits(ending.substr(10, 5));
  if (!number || !count || *number > *count) return std::nullopt;
  return ShardName{std::string(file_name.substr(0, file_name.size() - kEnding.size())), *number, *count};
}

std::string shard_name(const ShardName& shard) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", shard.prefix, shard.number, shard.count);
}

}  // namespace k3d
