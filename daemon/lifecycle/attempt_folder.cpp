#include "daemon/lifecycle/attempt_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <functional>

#include "daemon/base/files.hpp"
#include "daemon/base/log.hpp"

namespace k3d::lifecycle {
namespace {

constexpr Bytes kTailBytes = 256 * kKiB;

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

std::filesystem::path attempt_folder(const std::filesystem::path& state, std::uint64_t attempt) {
  return state / "attempts" / std::to_string(attempt);
}

Status prepare_folder(const std::filesystem::path& folder, const std::string& key) {
  if (Status made = make_folder(folder); !made) return made;
  const std::filesystem::path socket = folder / "engine.sock";
  if (::unlink(socket.c_str()) != 0 && errno != ENOENT) return fail(file_error("remove", socket, errno));
  if (!key.empty()) {
    if (Status kept = write_file(folder / "key", key, 0600); !kept) return kept;
  }
  return write_file(folder / "engine.log", "", 0600);
}

std::string kept_key(const std::filesystem::path& folder) { return read_file(folder / "key", 4 * kKiB).value_or(""); }

std::vector<std::uint64_t> kept_attempts(const std::filesystem::path& state) {
  std::vector<std::uint64_t> attempts;
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator(state / "attempts", ec)) {
    const std::string name = entry.path().filename().string();
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) attempts.push_back(number);
  }
  std::sort(attempts.begin(), attempts.end(), std::greater<>());
  return attempts;
}

void prune_folders(const std::filesystem::path& state, std::size_t keep, std::uint64_t running) {
  const std::vector<std::uint64_t> attempts = kept_attempts(state);
  for (std::size_t i = keep; i < attempts.size(); ++i) {
    if (attempts[i] == running) continue;
    std::error_code ec;
    std::filesystem::remove_all(attempt_folder(state, attempts[i]), ec);
    if (ec) log::warning("an old attempt's folder stays", {{"attempt", attempts[i]}, {"cause", ec.message()}});
  }
}

std::vector<std::string> log_tail(const std::filesystem::path& log, std::size_t lines) {
  const int fd = ::open(log.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return {};
  const off_t size = ::lseek(fd, 0, SEEK_END);
  const off_t begin = std::max<off_t>(0, size - static_cast<off_t>(kTailBytes));
  std::string text(static_cast<std::size_t>(size - begin), '\0');
  const ssize_t n = ::pread(fd, text.data(), text.size(), begin);
  ::close(fd);
  text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  if (begin > 0) text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);  // the first line is cut
  std::vector<std::string> all = split_lines(text);
  if (all.size() > lines) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(lines));
  return all;
}

Bytes log_length(const std::filesystem::path& log) {
  struct stat st{};
  return ::stat(log.c_str(), &st) == 0 ? static_cast<Bytes>(st.st_size) : 0;
}

std::string log_piece(const std::filesystem::path& log, Bytes offset, Bytes most) {
  std::ifstream file(log, std::ios::binary);
  std::string piece(most, '\0');
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(piece.data(), static_cast<std::streamsize>(most));
  piece.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return piece;
}

void append_line(const std::filesystem::path& log, std::string line) {
  const int fd = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  line += '\n';
  [[maybe_unused]] const ssize_t n = ::write(fd, line.data(), line.size());
  ::close(fd);
}

void bound_log(const std::filesystem::path& log, Bytes limit) {
  struct stat st{};
  if (::stat(log.c_str(), &st) != 0 || static_cast<Bytes>(st.st_blocks) * 512 <= limit) return;
  const int fd = ::open(log.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  const off_t keep_from = st.st_size - static_cast<off_t>(limit / 2);
  if (::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, keep_from) != 0) {
    // A file system without holes: start over; the engine appends, so its next line is at the new beginning.
    if (::ftruncate(fd, 0) != 0) log::warning("the engine's log can't be bounded", {{"log", log.string()}});
  }
  ::close(fd);
}

}  // namespace k3d::lifecycle
