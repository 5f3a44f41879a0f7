#include "daemon/adapters/proc_read_speed.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace k3d::adapters {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr std::size_t kBlock = 16 * kMiB;
constexpr std::size_t kAlignment = 4096;
constexpr Bytes kMost = 8 * kGiB;

struct Largest {
  fs::path path;
  Bytes size = 0;
};

/// Of a bounded number of entries: a folder of weights has few.
Largest largest_file(const fs::path& folder) {
  constexpr int kMostEntries = 50'000;
  constexpr int kDeepest = 6;
  Largest largest;
  std::error_code ec;
  int seen = 0;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, ec), end;
       !ec && at != end && seen < kMostEntries; at.increment(ec), ++seen) {
    if (at.depth() >= kDeepest) at.disable_recursion_pending();
    std::error_code none;
    if (at->is_symlink(none) || !at->is_regular_file(none)) continue;
    const Bytes size = at->file_size(none);
    if (!none && size > largest.size && ::access(at->path().c_str(), R_OK) == 0) largest = {at->path(), size};
  }
  return largest;
}

class File {
 public:
  explicit File(const fs::path& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT)) {
    if (fd_ >= 0 || errno != EINVAL) return;
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ >= 0) ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);  // where the filesystem can't read past the cache
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

Known<ReadSpeed> measure_read_speed(const fs::path& folder, milliseconds limit) {
  const Largest largest = largest_file(folder);
  if (largest.size == 0) return unknown("there is no file that can be read below " + folder.string());
  const File file(largest.path);
  const std::unique_ptr<void, decltype(&std::free)> block(std::aligned_alloc(kAlignment, kBlock), &std::free);
  if (file.fd() < 0 || block == nullptr) return unknown(largest.path.string() + ": " + std::strerror(errno));
  const auto begin = steady_clock::now();
  ReadSpeed speed;
  while (speed.bytes < kMost && steady_clock::now() - begin < limit) {
    const ssize_t got = ::read(file.fd(), block.get(), kBlock);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unknown(largest.path.string() + ": " + std::strerror(errno));
    if (got == 0) break;
    speed.bytes += static_cast<Bytes>(got);
  }
  const double took = std::chrono::duration<double>(steady_clock::now() - begin).count();
  speed.bytes_per_second = static_cast<double>(speed.bytes) / std::max(took, 1e-6);
  return speed;
}

}  // namespace k3d::adapters
