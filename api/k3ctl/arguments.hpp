// k3ctl's command line as values. CLI11 stays in the .cpp.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/contract/requests.hpp"
#include "api/k3ctl/plan_question.hpp"

namespace k3d::cli {

/// The contract of k3ctl's exit status.
enum ExitStatus : int { kDone = 0, kRefused = 1, kUsage = 2, kUnreachable = 3, kInterrupted = 130 };

struct CommonOptions {
  std::string url, token_file;
  bool json = false;
};

struct StatusCommand {};
struct ProfilesCommand {
  std::string name;  ///< empty: all
};
struct UpCommand {
  std::string profile;
  api::ActivateRequest request;
  bool detach = false;
};
struct DownCommand {
  api::DeactivateRequest request;
  bool detach = false;
};
struct LogsCommand {
  bool follow = false;
  std::optional<std::uint64_t> attempt;
  std::optional<int> tail;
};
struct OpsCommand {
  std::string id;  ///< empty: the newest
  int limit = 20;
};
struct CancelCommand {
  std::string id;
};
struct EventsCommand {};
struct OverrideCommand {
  std::string profile;
  api::OverridesRequest request;
  bool clear = false;  ///< instead of the request's `set`
};
struct HistoryCommand {
  int limit = 20;
};
struct PlanCommand {
  PlanQuestion question;
  bool explain = false;
};
struct QuantsCommand {};
struct DoctorCommand {
  bool probe = false;  ///< measure the disks, too
};
struct ReloadCommand {
  std::string reason;
};
struct ChatCommand {
  std::string text;
  std::string model;  ///< empty: whatever is active
  std::string proxy;  ///< empty: as status says
  std::string key_file;
  std::optional<int> max_tokens;
};

using Command = std::variant<StatusCommand, ProfilesCommand, UpCommand, DownCommand, LogsCommand, OpsCommand,
                             CancelCommand, EventsCommand, ChatCommand, OverrideCommand, HistoryCommand, PlanCommand, QuantsCommand,
                             DoctorCommand, ReloadCommand>;

struct Arguments {
  CommonOptions common;
  Command command;
};

/// There is nothing to run: help, the version, or a mistake.
struct Exit {
  int status = kDone;
  std::string out, err;
};

/// `args` without the program's name.
std::variant<Arguments, Exit> parse_arguments(const std::vector<std::string>& args);

}  // namespace k3d::cli
