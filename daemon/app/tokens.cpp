#include "daemon/app/tokens.hpp"

#include <cstdlib>

#include "daemon/base/files.hpp"
#include "daemon/base/log.hpp"

namespace k3d::app {
namespace {

constexpr std::size_t kLeast = 16;

Result<Secret> usable(std::string text, const std::filesystem::path& file) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  if (text.size() < kLeast || text.find_first_of(" \t\r\n") != std::string::npos) {
    return fail(Code::config_invalid, file.string() + " holds no token",
                "one line of at least 16 characters without blanks; remove the file and k3d makes one");
  }
  log::redact(text);
  return Secret(std::move(text));
}

Result<Secret> read_or_make(const std::filesystem::path& file) {
  Result<std::string> text = read_file(file, 4 * kKiB);
  if (!text && text.error().code == Code::not_found) {
    const std::string made = random_hex(32);
    if (Status kept = make_folder(file.parent_path()); !kept) return fail(kept.error());
    if (Status kept = write_file(file, made + "\n", 0600); !kept) return fail(kept.error());
    log::info("made a control token", {{"file", file.string()}});
    text = made;
  }
  if (!text) return fail(text.error());
  return usable(std::move(*text), file);
}

}  // namespace

Result<Tokens> load_tokens(const ControlSettings& control) {
  Tokens tokens;
  const char* credentials = std::getenv("CREDENTIALS_DIRECTORY");
  const std::filesystem::path passed = credentials == nullptr ? "" : std::filesystem::path(credentials) / "token";
  std::error_code ec;
  Result<Secret> full = !passed.empty() && std::filesystem::exists(passed, ec) ? read_or_make(passed)
                                                                              : read_or_make(control.token_file);
  if (!full) return fail(full.error());
  tokens.full = std::move(*full);
  if (!control.read_token_file.empty()) {
    Result<Secret> read = read_or_make(control.read_token_file);
    if (!read) return fail(read.error());
    tokens.read = std::move(*read);
  }
  return tokens;
}

}  // namespace k3d::app
