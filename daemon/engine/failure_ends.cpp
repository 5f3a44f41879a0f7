#include "daemon/engine/failure_ends.hpp"

#include <algorithm>
#include <array>

namespace k3d::engine {
namespace {

// 128 + N is signal N. 255 is Docker's word for an end that it did not see.
constexpr std::array kKillOrUnseen{137, 255};
constexpr std::array kSignalled{0, 137, 143};
constexpr std::array kUnseen{255};
constexpr std::array kKill{137};
constexpr std::array kAskedToEnd{0, 143};  // 0: its own orderly end, which only a signal brings about
constexpr std::array kNotRun{126, 127};
constexpr std::array kIllegalInstruction{132};
constexpr std::array kBusError{135};
constexpr std::array kCrash{134, 136, 139};

constexpr std::array kEnds{
    // That memory ran out proves nothing alone: it may have been another process.
    FailureEnd{"oom", kKillOrUnseen, true, true, std::nullopt, false},
    FailureEnd{"docker_restart", kSignalled, false, std::nullopt, true, false},
    FailureEnd{"docker_restart", kUnseen, true, std::nullopt, true, true},
    FailureEnd{"killed", kKill, false, std::nullopt, std::nullopt, false,
               "if `journalctl -k | grep -i 'killed process'` names it, the host itself ran out of memory: lower "
               "cache_ram or ctx_checkpoints, or see who else takes memory; else see who may use Docker"},
    FailureEnd{"killed", kAskedToEnd, false, std::nullopt, std::nullopt, false},
    FailureEnd{"image_error", kNotRun, false, std::nullopt, std::nullopt, true},
    FailureEnd{
        "crash", kIllegalInstruction, false, std::nullopt, std::nullopt, true,
        "the image was built for another CPU than this host's: use one without AVX-512 or AMX, or build it here"},
    FailureEnd{
        "crash", kBusError, false, std::nullopt, std::nullopt, true,
        "a model file could not be read to its end while it was in use: see `dmesg` for disk errors, and whether "
        "someone replaced the file"},
    FailureEnd{"crash", kCrash, false, std::nullopt, std::nullopt, true},
    FailureEnd{"crash", {}, true, std::nullopt, std::nullopt, true},
};

bool fits(const FailureEnd& end, const Ending& ending) {
  if (end.out_of_memory && *end.out_of_memory != ending.out_of_memory) return false;
  if (end.docker_restarted && *end.docker_restarted != ending.docker_restarted) return false;
  if (!ending.exit_code) return end.unknown;
  return end.exit_codes.empty() || std::ranges::count(end.exit_codes, *ending.exit_code) > 0;
}

std::string_view signal_words(int exit_code) {
  switch (exit_code) {
    case 132:
      return " (illegal instruction)";
    case 134:
      return " (abort)";
    case 135:
      return " (bus error)";
    case 136:
      return " (arithmetic error)";
    case 137:
      return " (SIGKILL)";
    case 139:
      return " (segmentation fault)";
    case 143:
      return " (SIGTERM)";
    case 255:
      return " (Docker did not see its end)";
    default:
      return {};
  }
}

}  // namespace

std::span<const FailureEnd> failure_ends() {
  return kEnds;
}

const FailureEnd& find_end(const Ending& ending) {
  const auto* const found =
      std::find_if(kEnds.begin(), kEnds.end(), [&ending](const FailureEnd& end) { return fits(end, ending); });
  return found == kEnds.end() ? kEnds.back() : *found;
}

std::string exit_words(const std::optional<int>& exit_code) {
  if (!exit_code) return "an exit code that nobody knows";
  return "exit code " + std::to_string(*exit_code) + std::string(signal_words(*exit_code));
}

}  // namespace k3d::engine
