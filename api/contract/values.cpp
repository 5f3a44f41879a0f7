#include "api/contract/values.hpp"

#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

/// A number as which it reads back the same: no leading zeros, and within what every JSON reader takes.
bool is_number(const std::string& text) {
  constexpr std::size_t kMostDigits = 15;
  return !text.empty() && text.size() <= kMostDigits && (text == "0" || text.front() != '0') &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json time_or_null(WallTime time) {
  return time == WallTime{} ? Json(nullptr) : Json(format_time(time));
}

Json time_or_null(const std::optional<WallTime>& time) {
  return time ? time_or_null(*time) : Json(nullptr);
}

Json number_or_null(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json number_or_null(const std::optional<int>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json bytes_or_null(const std::optional<Bytes>& bytes) {
  return bytes ? Json(*bytes) : Json(nullptr);
}

Json overrides_object(const Overrides& set) {
  Json out = Json::object();
  for (const auto& [key, text] : set) out[key] = is_number(text) ? Json(std::stoll(text)) : Json(text);
  return out;
}

std::string list_json(const Json& items, const std::optional<std::string>& next) {
  Json out = Json::object();
  out["items"] = items;
  out["next"] = next ? Json(*next) : Json(nullptr);
  return dump_json(out);
}

}  // namespace k3d::api
