#include "api/control/log_cursor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace k3d::api {
namespace {

constexpr std::size_t kReadBytes = 256 * kKiB;
constexpr std::size_t kLineLimit = 64 * kKiB;
constexpr Bytes kTailWindow = 8 * kMiB;

Bytes size_of(const std::filesystem::path& file) {
  struct stat st{};
  return ::stat(file.c_str(), &st) == 0 ? static_cast<Bytes>(st.st_size) : 0;
}

std::string read_at(const std::filesystem::path& file, std::uint64_t offset, std::size_t most) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return {};
  std::string bytes(most, '\0');
  const ssize_t n = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  ::close(fd);
  bytes.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return bytes;
}

/// The first byte that was not given back to the file system: reading a hole gives zeros.
std::uint64_t first_data(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return 0;
  const off_t data = ::lseek(fd, 0, SEEK_DATA);
  ::close(fd);
  return data < 0 ? 0 : static_cast<std::uint64_t>(data);
}

/// Where the last `lines` lines of the bytes from `floor` to `end` begin; read backwards, a piece at a time.
std::uint64_t begin_of_last(const std::filesystem::path& file, std::uint64_t floor, std::uint64_t end,
                            std::size_t lines) {
  if (lines == 0) return end;
  std::size_t seen = 0;
  for (std::uint64_t place = end; place > floor;) {
    const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(kReadBytes, place - floor));
    place -= size;
    const std::string bytes = read_at(file, place, size);
    for (std::size_t i = bytes.size(); i-- > 0;) {
      const bool between_lines = bytes[i] == '\n' && place + i + 1 != end;
      if (between_lines && ++seen == lines) return place + i + 1;
    }
  }
  return floor;
}

}  // namespace

LogCursor::LogCursor(std::filesystem::path file, bool at_end)
    : file_(std::move(file)), offset_(at_end ? size_of(file_) : first_data(file_)) {
  skipping_ = !at_end && offset_ > 0;  // the first line behind a hole is cut
}

LogCursor LogCursor::last(std::filesystem::path file, std::size_t lines) {
  LogCursor cursor(std::move(file), true);
  const std::uint64_t end = cursor.offset_;
  const std::uint64_t floor = std::max(first_data(cursor.file_), end > kTailWindow ? end - kTailWindow : 0);
  cursor.offset_ = begin_of_last(cursor.file_, floor, end, lines);
  cursor.skipping_ = floor > 0 && cursor.offset_ == floor;  // the line there is cut
  return cursor;
}

void LogCursor::read_more() {
  if (size_of(file_) < offset_) {  // it started over
    offset_ = 0;
    partial_.clear();
    skipping_ = false;
  }
  const std::string bytes = read_at(file_, offset_, kReadBytes);
  offset_ += bytes.size();
  partial_ += bytes;
}

std::vector<std::string> LogCursor::next(std::size_t most) {
  std::vector<std::string> lines;
  read_more();
  std::size_t begin = 0;
  for (std::size_t newline = partial_.find('\n'); newline != std::string::npos && lines.size() < most;
       newline = partial_.find('\n', begin)) {
    if (!skipping_) lines.push_back(partial_.substr(begin, std::min(newline - begin, kLineLimit)));
    skipping_ = false;
    begin = newline + 1;
  }
  partial_.erase(0, begin);
  if (partial_.size() > kLineLimit && partial_.find('\n') == std::string::npos) {
    if (!skipping_) lines.push_back(partial_.substr(0, kLineLimit));
    skipping_ = true;
    partial_.clear();
  }
  return lines;
}

}  // namespace k3d::api
