// The standing troubles: each code at most once, kept until it is gone.
#pragma once

#include <string>
#include <vector>

#include "daemon/model/snapshot.hpp"

namespace k3d::lifecycle {

class Conditions {
 public:
  /// True if that changed anything; `since` stays that of the first time.
  bool set(Condition condition);
  bool clear(const std::string& code);
  [[nodiscard]] bool has(const std::string& code) const;
  [[nodiscard]] const std::vector<Condition>& list() const { return list_; }

 private:
  std::vector<Condition> list_;
};

}  // namespace k3d::lifecycle
