#include "daemon/base/error.hpp"

#include <array>

namespace k3d {
namespace {

struct Row {
  Code code;
  std::string_view name;
  unsigned status;
  std::string_view title;
};

constexpr std::array kRows{
    Row{Code::invalid_request, "invalid_request", 400, "The request is not valid"},
    Row{Code::not_found, "not_found", 404, "There is no such thing"},
    Row{Code::unknown_profile, "unknown_profile", 404, "There is no profile of that name"},
    Row{Code::method_not_allowed, "method_not_allowed", 405, "This path does not take that method"},
    Row{Code::unsupported_media_type, "unsupported_media_type", 415, "The body must be application/json"},
    Row{Code::body_too_large, "body_too_large", 413, "The body is too large"},
    Row{Code::head_too_large, "head_too_large", 431, "The request head is too large"},
    Row{Code::unauthorized, "unauthorized", 401, "A valid token is needed"},
    Row{Code::forbidden, "forbidden", 403, "That is not allowed with this token"},
    Row{Code::host_not_allowed, "host_not_allowed", 421, "The Host header names a host that is not allowed"},
    Row{Code::origin_not_allowed, "origin_not_allowed", 403, "Requests from pages of other origins are not allowed"},
    Row{Code::not_exposed, "not_exposed", 404, "This path is not exposed by the proxy"},
    Row{Code::too_many_requests, "too_many_requests", 429, "Too much at once"},
    Row{Code::not_yet, "not_yet", 501, "Not yet built"},
    Row{Code::no_active_profile, "no_active_profile", 503, "No profile is active"},
    Row{Code::model_loading, "model_loading", 503, "The model is still loading"},
    Row{Code::engine_failed, "engine_failed", 503, "The engine failed"},
    Row{Code::profile_not_active, "profile_not_active", 409, "Another profile is active"},
    Row{Code::upstream_failed, "upstream_failed", 502, "The engine broke off before it answered"},
    Row{Code::conflict, "conflict", 409, "That conflicts with what is going on"},
    Row{Code::gpus_held, "gpus_held", 409, "The GPUs are held by another operation"},
    Row{Code::superseded, "superseded", 409, "A newer request took its place"},
    Row{Code::cancelled, "cancelled", 409, "It was cancelled"},
    Row{Code::interrupted, "interrupted", 500, "k3d stopped before it was finished"},
    Row{Code::shutting_down, "shutting_down", 503, "k3d is stopping"},
    Row{Code::files_missing, "files_missing", 422, "Model files are missing or damaged"},
    Row{Code::shard_missing, "shard_missing", 422, "A shard of the model is missing"},
    Row{Code::not_first_shard, "not_first_shard", 422, "The model's path is not its first shard"},
    Row{Code::model_corrupt, "model_corrupt", 422, "A model file is damaged"},
    Row{Code::model_truncated, "model_truncated", 422, "A model file is cut short"},
    Row{Code::image_missing, "image_missing", 422, "The engine image is missing"},
    Row{Code::flag_missing, "flag_missing", 422, "The engine image lacks a flag that the profile needs"},
    Row{Code::start_refused, "start_refused", 422, "The engine can't be started like this"},
    Row{Code::does_not_fit, "does_not_fit", 422, "It does not fit here"},
    Row{Code::quant_blocked, "quant_blocked", 422, "The quant must not serve"},
    Row{Code::quant_unproven, "quant_unproven", 422, "The quant is not proven on these GPUs"},
    Row{Code::docker_unavailable, "docker_unavailable", 503, "Docker can't be reached"},
    Row{Code::docker_unresponsive, "docker_unresponsive", 503, "Docker does not answer in time"},
    Row{Code::docker_refused, "docker_refused", 502, "Docker refused"},
    Row{Code::config_invalid, "config_invalid", 422, "The configuration is not valid"},
    Row{Code::instance_taken, "instance_taken", 409, "Another k3d runs this instance"},
    Row{Code::state_unusable, "state_unusable", 500, "The state can't be used"},
    Row{Code::disk_full, "disk_full", 507, "The disk is full"},
    Row{Code::io_failed, "io_failed", 500, "Reading or writing failed"},
    Row{Code::timed_out, "timed_out", 504, "It took too long"},
    Row{Code::unreachable, "unreachable", 502, "The other side can't be reached"},
    Row{Code::protocol, "protocol", 502, "The other side broke the protocol"},
    Row{Code::internal, "internal", 500, "k3d made a mistake"},
};

const Row& row(Code code) {
  for (const Row& r : kRows) {
    if (r.code == code) return r;
  }
  return kRows.back();
}

}  // namespace

std::string_view to_string(Code code) {
  return row(code).name;
}

std::optional<Code> parse_code(std::string_view text) {
  for (const Row& r : kRows) {
    if (r.name == text) return r.code;
  }
  return std::nullopt;
}

unsigned http_status(Code code) {
  return row(code).status;
}
std::string_view title(Code code) {
  return row(code).title;
}

std::string Error::text() const {
  std::string out = message;
  if (!cause.empty()) out += ": " + cause;
  if (!hint.empty()) out += " (" + hint + ")";
  return out;
}

}  // namespace k3d
