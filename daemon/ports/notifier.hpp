// Port: the service manager. Implemented by adapters/systemd.
#pragma once

#include <string>

namespace k3d {

class Notifier {
 public:
  virtual ~Notifier() = default;
  virtual void ready() = 0;
  virtual void stopping() = 0;
  virtual void status(const std::string& line) = 0;
  virtual void watchdog() = 0;
};

}  // namespace k3d
