#include "daemon/engine/extra_args.hpp"

#include <algorithm>

#include "daemon/model/reserved_flags.hpp"

namespace k3d::engine {
namespace {

/// An argument as the image's help spells it: llama-server takes `_` for `-` in long flags.
std::string normalised(const std::string& arg) {
  std::string flag = arg.substr(0, arg.find('='));
  if (flag.starts_with("--")) std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

/// "-1" and "-.5" are values.
bool looks_like_flag(const std::string& arg) {
  return arg.size() > 1 && arg[0] == '-' && arg[1] != '.' && (arg[1] < '0' || arg[1] > '9');
}

std::vector<std::string> spellings_of(const std::string& flag, const EngineCapabilities& image) {
  const auto found = image.flags.find(flag);
  return found == image.flags.end() ? std::vector<std::string>{flag} : found->second;
}

Error refusal(const std::string& arg, const std::string& reason) {
  return {Code::start_refused, "extra_args may not hold " + arg, reason, {}};
}

Status check_flag(const std::string& arg, const Arguments& arguments) {
  for (const std::string& spelling : spellings_of(normalised(arg), arguments.image())) {
    if (const auto reason = reserved_flag_reason(spelling)) return fail(refusal(arg, *reason));
    if (std::find(arguments.list().begin(), arguments.list().end(), spelling) != arguments.list().end()) {
      return fail(refusal(arg, "k3d sets " + spelling + " itself"));
    }
  }
  return {};
}

}  // namespace

Status check_extra_args(const std::vector<std::string>& extra, const Arguments& arguments) {
  bool is_value = false;
  for (const std::string& arg : extra) {
    if (!looks_like_flag(arg)) {
      is_value = false;
      continue;
    }
    // A value may begin with a dash; but no reserved flag gets by as one.
    if (Status fine = check_flag(arg, arguments); !fine) return fine;
    const std::string flag = normalised(arg);
    if (!is_value && !arguments.image().has(flag)) {
      return fail(flag_missing(flag, "extra_args", arguments.image_name()));
    }
    is_value = !is_value && arguments.image().values.contains(flag);
  }
  return {};
}

}  // namespace k3d::engine
