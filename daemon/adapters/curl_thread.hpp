// The thread of all transfers with the hub: one libcurl multi handle with its own poll, so that no transfer waits for a
// loop of the daemon, nor a loop for a transfer. Not here: what one transfer does (curl_transfer).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "daemon/adapters/curl_transfer.hpp"
#include "daemon/base/async/task.hpp"

namespace k3d::adapters {

class CurlThread {
 public:
  /// Called once, on this thread: also when the transfer was dropped or the thread ends.
  using Done = std::function<void(CurlAnswer)>;

  explicit CurlThread(CurlOptions options);
  CurlThread(const CurlThread&) = delete;
  CurlThread& operator=(const CurlThread&) = delete;
  /// Drops every transfer, and waits until each was told so.
  ~CurlThread();

  /// From any thread. The number is for `drop`.
  std::uint64_t begin(CurlRequest request, Done done);
  void drop(std::uint64_t transfer);

  /// The same for a coroutine: the answer comes back on its loop, which outlives this object. A cancelled one ends at
  /// once, with an answer that has no status, and its transfer is dropped.
  Task<CurlAnswer> fetch(CurlRequest request);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace k3d::adapters
