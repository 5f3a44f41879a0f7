#include "daemon/base/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace k3d {
namespace {

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

Status write_all(int fd, std::string_view content, const std::filesystem::path& path) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(file_error("write", path, errno));
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(fd) != 0) return fail(file_error("sync", path, errno));
  return {};
}

}  // namespace

Error file_error(std::string_view what, const std::filesystem::path& path, int number) {
  const bool full = number == ENOSPC || number == EDQUOT;
  Error error{full ? Code::disk_full : Code::io_failed, "can't " + std::string(what) + " " + path.string(), {},
              std::strerror(number)};
  if (full) error.hint = "free space on the file system of " + path.parent_path().string();
  if (number == EACCES || number == EPERM) error.hint = "give k3d's user access to it";
  return error;
}

Result<std::string> read_file(const std::filesystem::path& path, Bytes limit) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) {
    if (errno == ENOENT) return fail(Code::not_found, "there is no file " + path.string());
    return fail(file_error("open", path, errno));
  }
  std::string content;
  char buffer[65536];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(file_error("read", path, errno));
    if (n == 0) return content;
    content.append(buffer, static_cast<std::size_t>(n));
    if (content.size() > limit) {
      return fail(Code::invalid_request, path.string() + " is larger than " + format_bytes(limit));
    }
  }
}

Status write_file(const std::filesystem::path& path, std::string_view content, unsigned mode) {
  const std::filesystem::path temporary = path.string() + ".new-" + std::to_string(::getpid());
  {
    const Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode));
    if (fd.get() < 0) return fail(file_error("create", temporary, errno));
    if (Status written = write_all(fd.get(), content, path); !written) {
      ::unlink(temporary.c_str());
      return written;
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int number = errno;
    ::unlink(temporary.c_str());
    return fail(file_error("replace", path, number));
  }
  const Fd folder(::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || ::fsync(folder.get()) != 0) return fail(file_error("sync", path.parent_path(), errno));
  return {};
}

Status make_folder(const std::filesystem::path& path) {
  std::error_code ec;
  const bool made = std::filesystem::create_directories(path, ec);
  if (ec) return fail(file_error("create the folder", path, ec.value()));
  if (made && ::chmod(path.c_str(), 0700) != 0) return fail(file_error("set the mode of", path, errno));
  return {};
}

}  // namespace k3d
