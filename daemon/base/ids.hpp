// Strong identifiers: names that can't be mixed up, and the rule that names from outside must pass.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>

namespace k3d {

/// A string that only goes where its kind goes.
template <class Tag>
struct Id {
  std::string value;

  Id() = default;
  explicit Id(std::string v) : value(std::move(v)) {}
  [[nodiscard]] bool empty() const { return value.empty(); }
  friend auto operator<=>(const Id&, const Id&) = default;
};

using ContainerId = Id<struct ContainerTag>;
using OperationId = Id<struct OperationTag>;

/// ^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$ without "..": instances, profiles, models, quants, sources. Safe as a path part.
bool is_name(std::string_view text);

/// OWNER/NAME of the hub, each part a name of up to 96 characters.
bool is_repo_id(std::string_view text);

/// Exactly 40 lower-case hexadecimal digits.
bool is_commit(std::string_view text);

}  // namespace k3d

template <class Tag>
struct std::hash<k3d::Id<Tag>> {
  std::size_t operator()(const k3d::Id<Tag>& id) const noexcept { return std::hash<std::string>{}(id.value); }
};
