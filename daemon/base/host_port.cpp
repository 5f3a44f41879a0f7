#include "daemon/base/host_port.hpp"

#include <charconv>

namespace k3d {

Result<HostPort> parse_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  HostPort address;
  std::string_view port = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  const auto [end, ec] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (ec != std::errc() || end != port.data() + port.size()) {
    return fail(Code::config_invalid, "\"" + std::string(text) + "\" has no port", "write ADDRESS:PORT");
  }
  address.host = text.substr(0, colon);
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  if (address.host == "localhost") address.host = "127.0.0.1";
  return address;
}

}  // namespace k3d
