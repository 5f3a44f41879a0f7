// One run of k3ctl: from the words of the command line to the exit status. main() adds the process around it.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "api/k3ctl/session.hpp"

namespace k3d::cli {

/// What is read from the environment; empty means not set.
struct Environment {
  std::string url, token, api_key;
};

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  Terminal terminal;
  milliseconds patience{10'000};  ///< Session::patience
};

/// Runs a loop of its own until the command has ended; SIGINT and SIGTERM end it early.
int run(const std::vector<std::string>& args, const Environment& environment, Streams streams);

}  // namespace k3d::cli
