// The rules at the door: which Host, which key. Shared by the loops; thread-safe.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/http/request_head.hpp"
#include "api/proxy/access.hpp"
#include "daemon/base/units.hpp"

namespace k3d::proxy {

class Guard {
 public:
  Guard(const ProxySettings& settings, std::vector<std::string> allowed_hosts);

  /// Reads the keys' file now. Errors: config_invalid, with the file and what to do.
  Status load();
  /// Error unauthorized, host_not_allowed, method_not_allowed or not_exposed. The keys' file is read again when it has
  /// changed; a bad new version leaves the old keys in force.
  Status admit(const api::RequestHead& head);
  /// The request's Origin if proxy.cors_origins has it (or "*"), else empty.
  [[nodiscard]] std::string allowed_origin(const api::RequestHead& head) const;
  [[nodiscard]] Bytes max_body() const { return settings_.max_body_bytes; }
  /// Adds a name under which this host is asked.
  void allow_host(std::string host);

 private:
  void refresh();
  bool host_allowed(std::string_view host);

  ProxySettings settings_;
  std::mutex mutex_;
  std::vector<std::string> hosts_;
  std::optional<ApiKeys> keys_;
  std::filesystem::file_time_type keys_time_;
  SteadyTime checked_at_{};
};

/// The guard in force. It is relieved as a whole: a request keeps to the one that it met. Thread-safe.
class GuardPost {
 public:
  explicit GuardPost(std::shared_ptr<Guard> guard) : guard_(std::move(guard)) {}
  [[nodiscard]] std::shared_ptr<Guard> read() const {
    const std::lock_guard lock(mutex_);
    return guard_;
  }
  void relieve(std::shared_ptr<Guard> next) {
    const std::lock_guard lock(mutex_);
    guard_.swap(next);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Guard> guard_;
};

}  // namespace k3d::proxy
