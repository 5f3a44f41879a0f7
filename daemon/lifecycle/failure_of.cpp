#include "daemon/lifecycle/failure_of.hpp"

#include "daemon/engine/failures.hpp"

namespace k3d::lifecycle {
namespace {

/// The catalogue's name for an error that has one of its own there.
std::string failure_code(Code code) {
  switch (code) {
    case Code::files_missing: return "model_missing";
    case Code::image_missing: return "image_error";
    case Code::flag_missing: return "unknown_flag";
    case Code::start_refused: return "bad_argument";
    default: return std::string(to_string(code));
  }
}

bool worth_a_retry(Code code) {
  return code == Code::docker_unavailable || code == Code::docker_unresponsive || code == Code::timed_out ||
         code == Code::unreachable || code == Code::disk_full || code == Code::conflict;
}

}  // namespace

Failure failure_of(const Error& error, const std::string& profile, std::uint64_t attempt) {
  Failure failure;
  failure.code = failure_code(error.code);
  failure.title = std::string(title(error.code));
  failure.detail = error.cause.empty() ? error.message : error.message + ": " + error.cause;
  failure.advice = error.hint;
  failure.profile = profile;
  failure.attempt = attempt;
  failure.retryable = worth_a_retry(error.code);
  return failure;
}

Failure named_failure(std::string_view code, const std::string& profile, std::uint64_t attempt, std::string detail) {
  Failure failure = engine::catalogued(code).value_or(Failure{});
  failure.code = code;
  failure.detail = std::move(detail);
  failure.profile = profile;
  failure.attempt = attempt;
  return failure;
}

}  // namespace k3d::lifecycle
