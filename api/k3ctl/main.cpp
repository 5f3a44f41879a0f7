// The process around k3ctl: environment, standard streams and whether they are a terminal.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>

#include "api/k3ctl/run.hpp"

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

k3d::cli::Terminal terminal() {
  k3d::cli::Terminal out;
  out.live = ::isatty(STDOUT_FILENO) == 1 && variable("TERM") != "dumb";
  winsize size{};
  if (out.live && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) out.width = size.ws_col;
  return out;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> args(argv + 1, argv + argc);
  const k3d::cli::Environment environment{variable("K3D_URL"), variable("K3D_TOKEN"), variable("K3D_API_KEY")};
  return k3d::cli::run(args, environment, {std::cin, std::cout, std::cerr, terminal()});
} catch (const std::exception& error) {
  std::cerr << "k3ctl made a mistake: " << error.what() << '\n';
  return k3d::cli::kRefused;
}
