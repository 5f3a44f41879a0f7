#include "daemon/planning/gguf_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "daemon/base/files.hpp"

namespace k3d::planning {
namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(std::filesystem::path path, int fd, Bytes size)
      : path_(std::move(path)), name_(path_.filename().string()), fd_(fd), size_(size) {}
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override { ::close(fd_); }

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Bytes size() const override { return size_; }

  Result<std::string> read(Bytes offset, Bytes length) override {
    std::string bytes(length, '\0');
    Bytes done = 0;
    while (done < length) {
      const ssize_t n = ::pread(fd_, bytes.data() + done, length - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail(file_error("read", path_, errno));
      if (n == 0) return fail(Code::io_failed, path_.string() + " became shorter while it was read");
      done += static_cast<Bytes>(n);
    }
    return bytes;
  }

 private:
  std::filesystem::path path_;
  std::string name_;
  int fd_;
  Bytes size_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_file(const std::filesystem::path& path) {
  // Without O_NONBLOCK a pipe of that name would be waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    return fail(Code::files_missing, "there is no file " + path.string());
  }
  if (fd < 0) return fail(file_error("open", path, errno));
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return fail(Code::model_corrupt, path.string() + " is no regular file");
  }
  return std::make_unique<FileSource>(path, fd, static_cast<Bytes>(info.st_size));
}

}  // namespace k3d::planning
