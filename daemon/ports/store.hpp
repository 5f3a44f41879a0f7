// Port: what outlives k3d. Losing it loses history, never the running model. Implemented by adapters/sqlite_store.
// Blocking: called on the store's own thread by way of `offload`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/model/audit.hpp"
#include "daemon/model/operation.hpp"

namespace k3d {

class Store {
 public:
  virtual ~Store() = default;
  /// The profile that should run; empty: none.
  virtual Status save_desired(const std::string& profile) = 0;
  virtual Result<std::string> load_desired() = 0;
  /// A number that no earlier attempt of this state had.
  virtual Result<std::uint64_t> next_attempt() = 0;
  virtual Status save_operation(const Operation& operation) = 0;
  /// The newest `limit` operations, newest first.
  virtual Result<std::vector<Operation>> load_operations(int limit) = 0;
  /// A small value kept by key, such as an image's capabilities.
  virtual Status put(const std::string& key, const std::string& value) = 0;
  virtual Result<std::optional<std::string>> get(const std::string& key) = 0;
  /// The number is given here. The newest 10 000 are kept.
  virtual Status append_audit(const AuditEntry& entry) = 0;
  /// The newest `limit` entries with a number below `before` (0: of all), newest first.
  virtual Result<std::vector<AuditEntry>> load_audit(int limit, std::uint64_t before) = 0;
};

}  // namespace k3d
