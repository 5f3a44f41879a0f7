// Listens for the driver's Xids: what happened to the cards since the GPU process opened the driver. Not here: what they
// mean (doctor).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemon/adapters/nvml_calls.hpp"

namespace k3d::adapters {

class NvmlListener {
 public:
  /// To be called once the driver is open, and again when it was opened anew; what was heard stays.
  void begin(const nvml_api::Calls& calls, unsigned cards);
  /// Before the driver is closed.
  void end(const nvml_api::Calls& calls);
  /// Takes up what the driver has told since; doesn't wait.
  void take(const nvml_api::Calls& calls);
  /// Whether the driver tells of any card's.
  [[nodiscard]] bool hears() const { return !cards_.empty(); }
  [[nodiscard]] std::vector<unsigned> of(const std::string& uuid) const;

 private:
  nvml_api::EventSet set_ = nullptr;
  std::map<nvml_api::Device, std::string> cards_;  ///< that it listens to, by UUID
  std::map<std::string, std::set<unsigned>> heard_;
};

}  // namespace k3d::adapters
