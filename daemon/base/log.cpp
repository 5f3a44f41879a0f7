#include "daemon/base/log.hpp"

#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "daemon/base/units.hpp"

namespace k3d::log {
namespace {

std::atomic<Level> g_level{Level::info};
std::mutex g_secrets_mutex;
std::vector<std::string> g_secrets;

std::string redacted(std::string text) {
  const std::lock_guard lock(g_secrets_mutex);
  for (const std::string& secret : g_secrets) {
    for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
      text.replace(at, secret.size(), "[redacted]");
    }
  }
  return text;
}

/// One event is one line: control characters become spaces.
std::string one_line(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return text;
}

std::string quoted(std::string text) {
  if (!text.empty() && text.find_first_of(" \"=") == std::string::npos) return text;
  std::replace(text.begin(), text.end(), '"', '\'');
  return "\"" + text + "\"";
}

std::string_view name(Level level) {
  switch (level) {
    case Level::debug: return "debug";
    case Level::info: return "info";
    case Level::warning: return "warning";
    case Level::error: return "error";
  }
  return {};
}

int priority(Level level) {
  switch (level) {
    case Level::debug: return 7;
    case Level::info: return 6;
    case Level::warning: return 4;
    case Level::error: return 3;
  }
  return 6;
}

std::string journal_key(std::string_view key) {
  std::string out = "K3D_";
  for (const char c : key) {
    out += std::isalnum(static_cast<unsigned char>(c)) != 0
               ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
               : '_';
  }
  return out;
}

void to_journal(Level level, const std::string& line, Fields fields) {
  std::vector<std::string> entries{"MESSAGE=" + line, "PRIORITY=" + std::to_string(priority(level)),
                                   "SYSLOG_IDENTIFIER=k3d"};
  for (const Field& field : fields) entries.push_back(journal_key(field.key) + "=" + redacted(field.value));
  std::vector<iovec> parts;
  parts.reserve(entries.size());
  for (std::string& entry : entries) parts.push_back({entry.data(), entry.size()});
  sd_journal_sendv(parts.data(), static_cast<int>(parts.size()));
}

/// systemd names the stream by its device and inode. Below a unit the variable is inherited, and standard error may be a
/// file by then.
bool stderr_is_the_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat here{};
  if (stream == nullptr || ::fstat(STDERR_FILENO, &here) != 0) return false;
  return stream == std::to_string(here.st_dev) + ":" + std::to_string(here.st_ino);
}

void to_stderr(Level level, const std::string& line) {
  const std::string text = format_time(std::chrono::system_clock::now()) + " " + std::string(name(level)) + ": " + line + "\n";
  // One write a line; a closed or full stderr loses lines, never the daemon (SIGPIPE is ignored in main).
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

void set_level(Level level) { g_level = level; }

void redact(std::string secret) {
  if (secret.size() < 8) return;
  const std::lock_guard lock(g_secrets_mutex);
  g_secrets.push_back(std::move(secret));
}

void write(Level level, std::string_view message, Fields fields) {
  if (level < g_level.load(std::memory_order_relaxed)) return;
  std::string line(message);
  for (const Field& field : fields) line += " " + std::string(field.key) + "=" + quoted(one_line(field.value));
  line = one_line(redacted(std::move(line)));
  static const bool journal = stderr_is_the_journal();
  if (journal) {
    to_journal(level, line, fields);
  } else {
    to_stderr(level, line);
  }
}

}  // namespace k3d::log
