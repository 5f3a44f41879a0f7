// Errors are values: what went wrong, in a closed set of codes that map one to one to API problem types.
// Not here: the catalogue of engine failures (daemon/engine), which is data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace k3d {

enum class Code {
  // requests
  invalid_request,
  not_found,
  unknown_profile,
  method_not_allowed,
  unsupported_media_type,
  body_too_large,
  head_too_large,
  unauthorized,
  forbidden,
  host_not_allowed,
  origin_not_allowed,
  not_exposed,
  too_many_requests,
  not_yet,
  // serving
  no_active_profile,
  model_loading,
  engine_failed,
  profile_not_active,
  upstream_failed,
  conflict,
  gpus_held,
  superseded,
  cancelled,
  interrupted,
  shutting_down,
  // starting an engine
  files_missing,
  shard_missing,
  not_first_shard,
  model_corrupt,
  model_truncated,
  image_missing,
  flag_missing,
  start_refused,
  does_not_fit,
  quant_blocked,
  quant_unproven,
  // Docker
  docker_unavailable,
  docker_unresponsive,
  docker_refused,
  // this host
  config_invalid,
  instance_taken,
  state_unusable,
  disk_full,
  io_failed,
  timed_out,
  unreachable,
  protocol,
  internal,
};

/// The stable, documented spelling, as in `urn:k3d:problem:CODE`.
std::string_view to_string(Code code);
/// The code of that spelling, or nothing.
std::optional<Code> parse_code(std::string_view text);

/// The HTTP status of a problem with this code.
unsigned http_status(Code code);

/// A short title for people, the same for every problem of this code.
std::string_view title(Code code);

/// What there is too little of.
struct Shortage {
  std::string resource;       ///< vram, ram, disk, context, flag or quant
  std::optional<int> device;  ///< index of the GPU
  std::uint64_t need_bytes = 0, have_bytes = 0;  ///< both 0: not counted in bytes

  friend bool operator==(const Shortage&, const Shortage&) = default;
};

struct Error {
  Code code = Code::internal;
  std::string message;  ///< what happened, with the place and the value
  std::string hint;     ///< what to do about it; may be empty
  std::string cause;    ///< the words of whoever refused (Docker, the kernel); may be empty
  std::vector<Shortage> breaks = {};  ///< where something doesn't fit: what, the first first

  /// "message: cause (hint)", for logs and terminals.
  [[nodiscard]] std::string text() const;
};

}  // namespace k3d
