#include "daemon/planning/model_headers.hpp"

#include <cmath>

namespace k3d::planning {
namespace {

template <class T>
const T* find(const ModelHeaders& headers, const std::string& key) {
  const auto at = headers.metadata.find(key);
  return at == headers.metadata.end() ? nullptr : std::get_if<T>(&at->second);
}

constexpr double kInt64Limit = 9223372036854775808.0;  // 2^63

}  // namespace

std::optional<std::int64_t> ModelHeaders::integer(const std::string& key) const {
  if (const auto* value = find<std::int64_t>(*this, key)) return *value;
  if (const auto* flag = find<bool>(*this, key)) return *flag ? 1 : 0;
  const auto* real = find<double>(*this, key);
  if (!real || std::trunc(*real) != *real || *real < -kInt64Limit || *real >= kInt64Limit) return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

std::optional<double> ModelHeaders::number(const std::string& key) const {
  if (const auto* value = find<double>(*this, key)) return *value;
  if (const auto* whole = find<std::int64_t>(*this, key)) return static_cast<double>(*whole);
  return std::nullopt;
}

std::optional<std::string> ModelHeaders::text(const std::string& key) const {
  if (const auto* value = find<std::string>(*this, key)) return *value;
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> ModelHeaders::integers(const std::string& key, std::size_t count) const {
  if (const auto* values = find<std::vector<std::int64_t>>(*this, key)) {
    if (values->size() < count) return std::nullopt;
    return std::vector<std::int64_t>(values->begin(), values->begin() + static_cast<std::ptrdiff_t>(count));
  }
  const auto single = integer(key);
  if (!single) return std::nullopt;
  return std::vector<std::int64_t>(count, *single);
}

}  // namespace k3d::planning
