// A request's head, read strictly: anything that two servers could read differently is refused here. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/result.hpp"

namespace k3d::api {

inline constexpr std::size_t kHeadLimit = 64 * 1024;  ///< bytes
inline constexpr std::size_t kFieldLimit = 100;

struct RequestHead {
  std::string method;
  std::string target;  ///< as it came
  std::string path;    ///< decoded once, for routing
  std::string query;   ///< as it came, without the question mark
  int minor_version = 1;
  std::vector<std::pair<std::string, std::string>> fields;  ///< in their order
  std::optional<std::uint64_t> content_length;
  bool chunked = false;
  bool keep_alive = true;
  bool expect_continue = false;

  /// The first field of that name in any case, or empty.
  [[nodiscard]] std::string_view field(std::string_view name) const;
};

/// Finds the end of a head in bytes as they arrive; reads no byte twice.
class HeadEnd {
 public:
  /// `received` is everything since the head's begin. The head's length with its empty line, or 0 if it isn't whole
  /// yet. Errors: invalid_request for bare LF and NUL, head_too_large.
  Result<std::size_t> find(std::string_view received);

 private:
  std::size_t at_ = 0;
};

/// `raw` ends with the empty line. Errors: invalid_request; method_not_allowed, whose hint lists the methods that are
/// served; head_too_large.
Result<RequestHead> parse_head(std::string_view raw);

/// The value of `name` in a query, percent and plus decoded; nothing if it is absent.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

}  // namespace k3d::api
