// Port: the service manager. Implemented by adapters/systemd.
#pragma once

#include <string>

namespace k3d {

/// A socket that the service manager passed to this process, and the name that it has there.
struct PassedSocket {
  int fd = -1;
  std::string name;
};

class Notifier {
 public:
  virtual ~Notifier() = default;
  virtual void ready() = 0;
  virtual void stopping() = 0;
  virtual void status(const std::string& line) = 0;
  virtual void watchdog() = 0;
  /// The configuration is read again; ready() follows.
  virtual void reloading() = 0;
  /// Has the service manager keep a duplicate of `socket` over a restart, to be passed back under `name`.
  virtual void keep(const std::string& name, int socket) = 0;
  /// Has it drop what it keeps under `name`.
  virtual void forget(const std::string& name) = 0;
};

}  // namespace k3d
