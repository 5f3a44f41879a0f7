#include "daemon/adapters/systemd.hpp"

#include <systemd/sd-daemon.h>

#include <cstdint>
#include <cstdlib>

namespace k3d::adapters {
namespace {

class SystemdNotifier : public Notifier {
 public:
  void ready() override { sd_notify(0, "READY=1"); }
  void stopping() override { sd_notify(0, "STOPPING=1"); }
  void status(const std::string& line) override { sd_notify(0, ("STATUS=" + line).c_str()); }
  void watchdog() override { sd_notify(0, "WATCHDOG=1"); }
  void reloading() override { sd_notify(0, "RELOADING=1"); }
  void keep(const std::string& name, int socket) override {
    sd_pid_notify_with_fds(0, 0, ("FDSTORE=1\nFDNAME=" + name).c_str(), &socket, 1);
  }
  void forget(const std::string& name) override { sd_notify(0, ("FDSTOREREMOVE=1\nFDNAME=" + name).c_str()); }
};

}  // namespace

std::unique_ptr<Notifier> systemd_notifier() { return std::make_unique<SystemdNotifier>(); }

std::vector<PassedSocket> passed_sockets() {
  std::vector<PassedSocket> sockets;
  char** names = nullptr;
  const int count = sd_listen_fds_with_names(1, &names);
  for (int i = 0; i < count; ++i) sockets.push_back({SD_LISTEN_FDS_START + i, names[i]});
  for (int i = 0; i < count; ++i) std::free(names[i]);
  std::free(names);
  return sockets;
}

unsigned watchdog_milliseconds() {
  std::uint64_t micros = 0;
  return sd_watchdog_enabled(0, &micros) > 0 ? static_cast<unsigned>(micros / 2000) : 0;
}

}  // namespace k3d::adapters
