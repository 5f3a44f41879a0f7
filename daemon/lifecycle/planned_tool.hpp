// Runs a program of an engine image once, to its end, in a container that goes with it.
#pragma once

#include <string>
#include <vector>

#include "daemon/base/async/task.hpp"
#include "daemon/ports/containers.hpp"

namespace k3d::lifecycle {

struct ToolRun {
  int exit_code = 0;
  bool file_there = false;          ///< the file that was asked about is in the image
  std::string text;                 ///< everything it wrote
  std::vector<std::string> answer;  ///< standard output, line by line
};

/// `file` is looked for in the container; without it a program that `needs_file` is not started. Errors: Docker's;
/// not_found for a needed file; timed_out. The container goes in any case, also if the caller is cancelled.
Task<Result<ToolRun>> run_tool(Containers& containers, LaunchSpec spec, std::string file, bool needs_file, seconds limit);

}  // namespace k3d::lifecycle
