// Every check: one function that gives one verdict, grouped in files by what it is about.
#pragma once

#include "daemon/model/host_report.hpp"

namespace k3d::doctor {

HostCheck check_gpu_driver(const HostReport& host);
HostCheck check_gpu_driver_version(const HostReport& host);
HostCheck check_gpu_open_module(const HostReport& host);
HostCheck check_gpu_cards(const HostReport& host);
HostCheck check_gpu_memory(const HostReport& host);
HostCheck check_gpu_mig(const HostReport& host);
HostCheck check_gpu_ecc(const HostReport& host);
HostCheck check_gpu_xid(const HostReport& host);
HostCheck check_gpu_cdi(const HostReport& host);

HostCheck check_docker_engine(const HostReport& host);
HostCheck check_docker_live_restore(const HostReport& host);
HostCheck check_docker_memlock(const HostReport& host);

HostCheck check_cpu_cores(const HostReport& host);
HostCheck check_cpu_avx512(const HostReport& host);
HostCheck check_cpu_amx(const HostReport& host);
HostCheck check_memory_available(const HostReport& host);
HostCheck check_memory_huge_pages(const HostReport& host);
HostCheck check_memory_swap(const HostReport& host);
HostCheck check_memory_numa_balancing(const HostReport& host);

HostCheck check_disk_kind(const HostReport& host);
HostCheck check_disk_access(const HostReport& host);
HostCheck check_disk_free(const HostReport& host);
HostCheck check_disk_read_speed(const HostReport& host);

HostCheck check_service_units(const HostReport& host);
HostCheck check_service_engines(const HostReport& host);

HostCheck check_network_tailscale(const HostReport& host);
HostCheck check_clock(const HostReport& host);

}  // namespace k3d::doctor
