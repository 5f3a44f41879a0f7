// What every command works with: a call's answer shown, and the ways in which a call ends badly.
#pragma once

#include <functional>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "api/client/control_client.hpp"
#include "api/k3ctl/arguments.hpp"

namespace k3d::cli {

struct Terminal {
  bool live = false;  ///< standard output is a terminal: lines may be drawn over
  int width = 80;
};

struct Session {
  api::ControlClient& client;
  std::ostream& out;
  std::ostream& err;
  std::istream& in;
  bool json = false;
  Terminal terminal;
  std::string api_key;  ///< K3D_API_KEY
  /// How long a daemon may be away while something is followed; it may be restarting.
  milliseconds patience{10'000};
  /// What Ctrl-C says; set by whoever leaves something going on.
  std::string parting_words{};
};

/// Says that nothing answers at the daemon's address and what to do; returns kUnreachable (kInterrupted if the call
/// was merely cut off by Ctrl-C).
int report_unreachable(Session& session, const Error& error);

/// Says what the daemon refused, with --json the raw problem on standard output; returns kRefused.
int report_refusal(Session& session, const api::Answer& answer);

/// Prints `body` as it came, with a newline at its end.
void print_raw(Session& session, const std::string& body);

/// For a body that is not what the contract says; returns kRefused.
int report_nonsense(Session& session, const Error& error);

/// An answer as a person reads it; an Error if it is not what the contract says.
using Page = std::function<Result<std::string>(const nlohmann::ordered_json&)>;

/// Waits for an answer and prints it, with --json as it came; returns the exit status.
Task<int> show(Session& session, Task<Result<api::Answer>> asked, Page page);

}  // namespace k3d::cli
