#include "daemon/doctor/examine.hpp"

#include <array>

#include "daemon/doctor/checks.hpp"

namespace k3d::doctor {

std::vector<HostCheck> examine(const HostReport& host) {
  constexpr std::array kChecks{
      check_gpu_driver,        check_gpu_driver_version,  check_gpu_open_module, check_gpu_cards,
      check_gpu_memory,        check_gpu_mig,             check_gpu_ecc,         check_gpu_xid,
      check_gpu_cdi,           check_docker_engine,       check_docker_live_restore, check_docker_memlock,
      check_cpu_cores,         check_cpu_avx512,          check_cpu_amx,         check_memory_available,
      check_memory_huge_pages, check_memory_swap,         check_memory_numa_balancing, check_disk_kind,
      check_disk_access,       check_disk_free,           check_disk_read_speed, check_service_units,
      check_service_engines,   check_network_tailscale,   check_clock,
  };
  std::vector<HostCheck> checks;
  checks.reserve(kChecks.size());
  for (const auto check : kChecks) checks.push_back(check(host));
  return checks;
}

}  // namespace k3d::doctor
