// How long to wait before Docker is asked again: 100 ms, doubled up to 5 s.
#pragma once

#include <algorithm>

#include "daemon/base/units.hpp"

namespace k3d::docker {

class Backoff {
 public:
  milliseconds next() {
    const milliseconds now = delay_;
    delay_ = std::min(delay_ * 2, milliseconds(5000));
    return now;
  }
  void reset() { delay_ = kFirst; }

 private:
  static constexpr milliseconds kFirst{100};
  milliseconds delay_ = kFirst;
};

}  // namespace k3d::docker
