#include "api/contract/values.hpp"

#include "daemon/base/json.hpp"

namespace k3d::api {

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

std::string list_json(const Json& items, const std::optional<std::string>& next) {
  Json out = Json::object();
  out["items"] = items;
  out["next"] = next ? Json(*next) : Json(nullptr);
  return dump_json(out);
}

}  // namespace k3d::api
