#include "config/rules.hpp"

#include <algorithm>
#include <array>
#include <regex>

#include "config/address.hpp"
#include "daemon/base/ids.hpp"
#include "daemon/model/reserved_flags.hpp"

namespace k3d::config::rules {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kDigits = "0123456789";

bool consists_of(std::string_view text, std::initializer_list<std::string_view> sets) {
  return std::ranges::all_of(text, [sets](char c) {
    return std::ranges::any_of(sets, [c](std::string_view set) { return set.find(c) != std::string_view::npos; });
  });
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

/// A text of letters, digits and `others`, beginning with a letter or digit, of at most `longest` bytes.
std::string word(std::string_view text, std::string_view others, std::size_t longest) {
  if (text.empty()) return "is empty";
  if (text.size() > longest) return "is longer than " + std::to_string(longest) + " bytes";
  if (!consists_of(text.substr(0, 1), {kLetters, kDigits})) return "doesn't begin with a letter or digit";
  if (!consists_of(text, {kLetters, kDigits, others})) return "has a character in it that isn't allowed";
  return {};
}

/// What follows `scheme` up to the first slash, without a port; empty if the text has another scheme.
std::string_view host_of(std::string_view url, std::string_view scheme) {
  if (!url.starts_with(scheme)) return {};
  url.remove_prefix(scheme.size());
  url = url.substr(0, url.find('/'));
  if (url.starts_with('[')) return url.substr(0, url.find(']') + 1);
  return url.substr(0, url.find(':'));
}

bool is_loopback_host(std::string_view host) {
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

std::string bad_url_text(std::string_view text) {
  if (text.find_first_of(" \t\"'\\<>") != std::string_view::npos || has_control(text)) {
    return "has a character in it that no address has";
  }
  if (text.find('@') != std::string_view::npos) return "has credentials in it; put them into a token file";
  if (text.find_first_of("?#") != std::string_view::npos) return "has a query in it";
  return {};
}

}  // namespace

std::string name(std::string_view text) {
  return is_name(text) ? "" : "is no name";
}

std::string profile_name(std::string_view text) {
  if (text == "none" || text == "last") return "is a word of boot: and can't name a profile";
  return name(text);
}

std::string repo_id(std::string_view text) {
  return is_repo_id(text) ? "" : "is no repository of the hub";
}

std::string commit(std::string_view text) {
  return is_commit(text) ? "" : "is no whole commit";
}

std::string path(std::string_view text) {
  if (!text.starts_with('/')) return "is relative";
  if (text.size() > 1024) return "is longer than 1024 bytes";
  if (has_control(text)) return "has a control character in it";
  const std::string framed = std::string(text) + "/";
  return framed.find("/../") == std::string::npos ? "" : "has \"..\" in it";
}

std::string state_path(std::string_view text) {
  // <state>/attempts/NNNNNNNN/engine.sock must fit into sun_path: 108 bytes with its NUL.
  constexpr std::size_t kLongest = 107 - std::string_view("/attempts/NNNNNNNN/engine.sock").size();
  if (text.size() > kLongest) {
    return "is too long: the engine's sockets lie below it, and a socket's path has room for 107 bytes (" +
           std::to_string(kLongest) + " for this one)";
  }
  return path(text);
}

std::string model_path(std::string_view text) {
  static const std::regex kShard("-([0-9]{5})-of-[0-9]{5}\\.gguf$");
  const std::string complaint = path(text);
  if (!complaint.empty()) return complaint;
  std::match_results<std::string_view::const_iterator> match;
  const bool shard = std::regex_search(text.begin(), text.end(), match, kShard);
  return shard && match[1] != "00001" ? "isn't the first shard of its set; name the one with 00001" : "";
}

std::string gguf_name(std::string_view text) {
  const std::string complaint = word(text, "._-", 128);
  if (!complaint.empty()) return complaint;
  return text.ends_with(".gguf") ? "" : "doesn't end in .gguf";
}

std::string alias(std::string_view text) {
  return word(text, "._:/@+-", 128);
}

std::string image(std::string_view text) {
  return word(text, "._:/@-", 255);
}

std::string git_url(std::string_view text) {
  const std::string complaint = bad_url_text(text);
  if (!complaint.empty()) return complaint;
  if (host_of(text, "https://").empty()) return "is no https address";
  return {};
}

std::string git_ref(std::string_view text) {
  const std::string complaint = word(text, "._/-", 255);
  if (!complaint.empty()) return complaint;
  return text.find("..") == std::string_view::npos ? "" : "has \"..\" in it";
}

std::string cuda_architectures(std::string_view text) {
  static const std::regex kList("[0-9]{2,3}[af]?(-real|-virtual)?(;[0-9]{2,3}[af]?(-real|-virtual)?)*");
  if (text.size() > 128) return "is longer than 128 bytes";
  return std::regex_match(text.begin(), text.end(), kList) ? "" : "is no list of architectures";
}

std::string gpu_uuid(std::string_view text) {
  if (!text.starts_with("GPU-") && !text.starts_with("MIG-")) return "is no UUID of a GPU";
  return word(text, "-", 64);
}

std::string tensor_override(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) return "has no REGEX=DEVICE";
  if (text.size() > 256) return "is longer than 256 bytes";
  if (text.find(',') != std::string_view::npos) return "has a comma in it, which llama-server takes for its end";
  // Counted repetitions multiply: a short line of them would keep the compiler of expressions busy for seconds.
  if (std::ranges::count(text, '{') > 1) return "has more than one {N} in it";
  const std::string complaint = device(text.substr(equals + 1));
  if (!complaint.empty()) return "has a device behind = that " + complaint;
  try {
    // The same library and grammar as llama-server's own: what compiles here compiles there.
    const std::regex compiled(std::string(text.substr(0, equals)));
  } catch (const std::regex_error&) {
    return "has no regular expression in front of =";
  }
  return {};
}

std::string device(std::string_view text) {
  return word(text, "_:.-", 64);
}

std::string env_name(std::string_view text) {
  struct Reserved {
    std::string_view pattern, reason;
  };
  static constexpr std::array<Reserved, 9> kReserved{{
      {"LLAMA_ARG_*", "would change llama-server's options past k3d; use the profile's keys or extra_args"},
      {"LLAMA_API_KEY", "is k3d's own; clients' keys are in proxy.api_keys_file"},
      {"LLAMA_SERVER_ROUTER_PORT", "would turn llama-server into a router's child"},
      {"LD_*", "would load other code into the engine; build it into the image"},
      {"CUDA_DEVICE_ORDER", "is set by k3d, so that indexes mean what nvidia-smi says"},
      {"CUDA_CACHE_PATH", "is set by k3d"},
      {"CUDA_VISIBLE_DEVICES", "would number the GPUs anew; use gpus"},
      {"NVIDIA_VISIBLE_DEVICES", "would give the engine other GPUs than k3d knows of; use gpus"},
      {"PATH", "is the image's own"},
  }};
  for (const Reserved& reserved : kReserved) {
    const bool prefix = reserved.pattern.ends_with('*');
    const std::string_view stem = reserved.pattern.substr(0, reserved.pattern.size() - (prefix ? 1 : 0));
    if (prefix ? text.starts_with(stem) : text == stem) return std::string(reserved.reason);
  }
  const bool good =
      !text.empty() && text.size() <= 128 && !kDigits.contains(text[0]) && consists_of(text, {kLetters, kDigits, "_"});
  return good ? "" : "is no name of an environment variable";
}

std::string one_line(std::string_view text) {
  if (has_control(text)) return "has a control character in it";
  return text.size() > 4096 ? "is longer than 4096 bytes" : "";
}

std::string extra_arg(std::string_view text) {
  const std::string complaint = one_line(text);
  if (!complaint.empty()) return complaint;
  if (text.empty()) return "is empty";
  const std::optional<std::string> reason = reserved_flag_reason(text);
  return reason ? "can't be given here: " + *reason : "";
}

std::string group(std::string_view text) {
  const bool good = !text.empty() && text.size() <= 32 && !kDigits.contains(text[0]) && text[0] != '-' &&
                    consists_of(text, {kLetters, kDigits, "_.-"});
  return good ? "" : "is no name of a group";
}

std::string host_name(std::string_view text) {
  return word(text, ".-", 253);
}

std::string origin(std::string_view text) {
  if (text == "*") return {};
  const std::string complaint = bad_url_text(text);
  if (!complaint.empty()) return complaint;
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (host_of(text, scheme).empty()) continue;
    return text.find('/', scheme.size()) == std::string_view::npos ? "" : "has a path in it, which no origin has";
  }
  return "is no origin";
}

std::string listen(std::string_view text) {
  const Result<Address> address = parse_address(text);
  return address ? "" : address.error().message;
}

std::string docker_host(std::string_view text) {
  if (text.starts_with("unix://")) return listen("unix:" + std::string(text.substr(7)));
  const std::string complaint = bad_url_text(text);
  if (!complaint.empty()) return complaint;
  if (host_of(text, "tcp://").empty() && host_of(text, "https://").empty()) return "is no address of Docker";
  return {};
}

bool leaves_this_host(std::string_view url) {
  if (url.starts_with("unix:")) return false;
  const std::string_view tcp = host_of(url, "tcp://");
  return !is_loopback_host(tcp.empty() ? host_of(url, "https://") : tcp);
}

std::string hub_endpoint(std::string_view text) {
  const std::string complaint = bad_url_text(text);
  if (!complaint.empty()) return complaint;
  if (!host_of(text, "https://").empty()) return {};
  const std::string_view plain = host_of(text, "http://");
  if (plain.empty()) return "is no https address";
  return is_loopback_host(plain) ? "" : "sends tokens unencrypted to another host";
}

}  // namespace k3d::config::rules
