// When to ask a hub again: what passes by itself, how long to wait, and when to give up. Pure: time and chance are
// parameters.
#pragma once

#include <optional>
#include <string>

#include "daemon/adapters/curl_transfer.hpp"
#include "daemon/base/error.hpp"
#include "daemon/base/units.hpp"

namespace k3d::adapters {

/// Why an exchange gave nothing.
struct HubTrouble {
  Error error;
  bool passing = false;                    ///< trying again may help
  std::optional<milliseconds> wait = {};  ///< as long as the hub says
};

/// Of an answer that isn't a success; nothing for a success, a redirect and 416. `host` is for the words; `signed_host`:
/// another one than the hub's own, whose addresses expire.
std::optional<HubTrouble> trouble_of(const CurlAnswer& answer, const std::string& host, bool signed_host, WallTime now);

/// Seconds or a date; nothing if it is neither. At most a day.
std::optional<milliseconds> parse_retry_after(const std::string& text, WallTime now);

/// One piece of work's tries. Not a count of tries ends them but time without progress.
class HubPace {
 public:
  HubPace(SteadyTime began, milliseconds patience) : progress_(began), patience_(patience) {}

  /// How long to wait before the next try; nothing: give up. `progress`: when anything last came from the hub.
  /// `chance`: 0 to 1.
  std::optional<milliseconds> next(const HubTrouble& trouble, SteadyTime now, SteadyTime progress, double chance);

 private:
  SteadyTime progress_;
  milliseconds patience_;
  milliseconds step_{500};
};

}  // namespace k3d::adapters
