#include "daemon/engine/log_wrapper.hpp"

namespace k3d::engine {
namespace {

// $0 is the program and $@ its arguments. exec: the engine takes the shell's place, so that signals reach it.
constexpr const char* kScript =
    R"(printf 'k3d: the log of this engine is in %s\n' "$K3D_LOG"; exec "$0" "$@" >>"$K3D_LOG" 2>&1)";

}  // namespace

void wrap_for_log(LaunchSpec& spec, const std::vector<std::string>& image_entrypoint, const std::string& log_path) {
  std::vector<std::string> args = image_entrypoint;
  args.insert(args.end(), spec.args.begin(), spec.args.end());
  spec.entrypoint = {"/bin/sh", "-c", kScript};
  spec.args = std::move(args);
  spec.env["K3D_LOG"] = log_path;
}

}  // namespace k3d::engine
