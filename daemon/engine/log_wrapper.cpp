#include "daemon/engine/log_wrapper.hpp"

#include <iterator>

namespace k3d::engine {

void wrap_for_log(LaunchSpec& spec, const std::vector<std::string>& image_entrypoint, const std::string& log) {
  const std::vector<std::string> program =
      image_entrypoint.empty() ? std::vector<std::string>{"llama-server"} : image_entrypoint;
  spec.entrypoint = {"/bin/sh", "-c",
                     "echo \"k3d: the log of this engine is in $K3D_LOG; read it with k3ctl logs\"; "
                     "exec \"$0\" \"$@\" >>\"$K3D_LOG\" 2>&1"};
  std::vector<std::string> args = program;
  args.insert(args.end(), std::make_move_iterator(spec.args.begin()), std::make_move_iterator(spec.args.end()));
  spec.args = std::move(args);
  spec.env["K3D_LOG"] = log;
}

}  // namespace k3d::engine
