#include "daemon/adapters/hf_hub_token.hpp"

#include <algorithm>
#include <cstdlib>

#include "daemon/base/files.hpp"

namespace k3d::adapters {
namespace {

constexpr Bytes kMostOfAToken = 4 * kKiB;

/// It becomes part of a header's line.
Result<Secret> checked(std::string text, const std::string& origin) {
  const auto end = text.find_last_not_of(" \t\r\n");
  text.resize(end == std::string::npos ? 0 : end + 1);
  if (std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7F; })) return Secret(std::move(text));
  return fail(Code::config_invalid, "the hub's token in " + origin + " has characters that no token has",
              "write the token alone, on one line");
}

}  // namespace

Result<Secret> hub_token(const std::filesystem::path& file) {
  if (!file.empty()) {
    Result<std::string> text = read_file(file, kMostOfAToken);
    if (text) return checked(std::move(*text), file.string());
    if (text.error().code != Code::not_found) return fail(text.error());
  }
  const char* token = std::getenv("HF_TOKEN");
  return token == nullptr ? Secret() : checked(token, "HF_TOKEN");
}

}  // namespace k3d::adapters
