// Port: this host's processes and facts. Implemented by adapters/proc_host.
#pragma once

#include <optional>

#include "daemon/base/units.hpp"
#include "daemon/model/host_facts.hpp"

namespace k3d {

struct ProcessIo {
  Bytes read_bytes = 0;     ///< rchar: everything read() returned, cache or disk
  Bytes disk_bytes = 0;     ///< read_bytes of /proc/PID/io
  Bytes resident_file = 0;  ///< RssFile
  std::uint64_t cpu_ticks = 0;
  Bytes resident_own = 0;   ///< RssAnon and RssShmem: what the host gets back when it ends
};

class HostProbe {
 public:
  virtual ~HostProbe() = default;
  /// Reads many small files, some slowly: not on a loop. May be called from any thread.
  virtual HostFacts facts() = 0;
  /// The engine below `container_pid` (docker-init's child, or itself if there is none); 0 if it is gone.
  virtual int engine_pid(int container_pid) = 0;
  /// Whether there is such a process at all.
  virtual bool is_there(int pid) = 0;
  /// Nothing if the process is gone or its io is closed to us.
  virtual std::optional<ProcessIo> process_io(int pid) = 0;
  /// How many processes the kernel has killed for want of memory since it booted.
  virtual std::uint64_t oom_kills() = 0;
  /// Whether something listens on 127.0.0.1:port already.
  virtual bool port_taken(std::uint16_t port) = 0;
  /// An unused loopback port.
  virtual std::uint16_t free_port() = 0;
};

}  // namespace k3d
