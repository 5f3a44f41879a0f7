#include "config/address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <span>

namespace k3d::config {
namespace {

constexpr std::size_t kLongestSocketPath = 107;  // sun_path without its NUL

std::unexpected<Error> wrong(std::string what) {
  return fail(Code::invalid_request, std::move(what));
}

/// Loopback is 127.0.0.0/8; Tailscale gives out 100.64.0.0/10 (RFC 6598, shared address space).
Address::Reach reach_of_v4(std::span<const unsigned char> bytes) {
  if (bytes[0] == 127) return Address::Reach::loopback;
  if (bytes[0] == 100 && (bytes[1] & 0xc0U) == 0x40) return Address::Reach::tailscale;
  return Address::Reach::elsewhere;
}

/// Loopback is ::1; Tailscale's range is fd7a:115c:a1e0::/48; mapped IPv4 addresses count as what they map.
Address::Reach reach_of_v6(std::span<const unsigned char> bytes) {
  constexpr std::array<unsigned char, 6> kTailscale{0xfd, 0x7a, 0x11, 0x5c, 0xa1, 0xe0};
  constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::ranges::equal(bytes.first(6), kTailscale)) return Address::Reach::tailscale;
  if (std::ranges::equal(bytes.first(12), kMapped)) return reach_of_v4(bytes.subspan(12));
  const bool zeros = std::ranges::all_of(bytes.first(15), [](unsigned char b) { return b == 0; });
  return zeros && bytes[15] == 1 ? Address::Reach::loopback : Address::Reach::elsewhere;
}

Result<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = error == std::errc{} && end == text.data() + text.size() && !text.starts_with('0');
  if (!whole) return wrong("has no port from 1 to 65535 at its end");
  return port;
}

Result<Address> parse_unix(std::string_view path) {
  if (!path.starts_with('/')) return wrong("is relative");
  if (path.size() > kLongestSocketPath) {
    return wrong("is longer than a socket's path may be (" + std::to_string(kLongestSocketPath) + " bytes)");
  }
  const bool control = std::ranges::any_of(path, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (control) return wrong("has a control character in it");
  return Address{Address::Kind::unix_socket, std::string(path), 0, Address::Reach::loopback};
}

template <int kFamily, std::size_t kBytes>
bool parse_literal(const std::string& host, Address& address) {
  std::array<unsigned char, kBytes> bytes{};
  if (inet_pton(kFamily, host.c_str(), bytes.data()) != 1) return false;
  std::array<char, INET6_ADDRSTRLEN> printed{};
  inet_ntop(kFamily, bytes.data(), printed.data(), printed.size());
  address.host = printed.data();
  address.reach = kFamily == AF_INET ? reach_of_v4(bytes) : reach_of_v6(std::span<const unsigned char>(bytes));
  return true;
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  if (text.starts_with("unix:")) return parse_unix(text.substr(5));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong("has no port");
  const Result<std::uint16_t> port = parse_port(text.substr(colon + 1));
  if (!port) return std::unexpected(port.error());
  std::string host(text.substr(0, colon));

  Address address{Address::Kind::tcp, host, *port, Address::Reach::loopback};
  if (host == "auto") {
    address.kind = Address::Kind::automatic;
    address.host = "127.0.0.1";
    return address;
  }
  if (host == "localhost") host = "127.0.0.1";
  const bool in_brackets = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
  const bool good = in_brackets ? parse_literal<AF_INET6, 16>(host.substr(1, host.size() - 2), address)
                                : parse_literal<AF_INET, 4>(host, address);
  if (good) return address;
  if (host.find(':') != std::string::npos && !in_brackets) return wrong("needs its IPv6 address in brackets");
  return wrong("has no IP address in front of the port");
}

bool collide(const Address& a, const Address& b) {
  const bool a_unix = a.kind == Address::Kind::unix_socket, b_unix = b.kind == Address::Kind::unix_socket;
  if (a_unix || b_unix) return a_unix && b_unix && a.host == b.host;
  if (a.port != b.port) return false;
  const auto any = [](const Address& x) { return x.host == "0.0.0.0" || x.host == "::"; };
  return a.host == b.host || any(a) || any(b);
}

}  // namespace k3d::config
