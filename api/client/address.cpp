#include "api/client/address.hpp"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "daemon/base/files.hpp"

namespace k3d::api {
namespace {

constexpr Bytes kMaxTokenFile = 4096;

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string group_name(gid_t gid) {
  std::array<char, 16384> buffer{};
  group entry{};
  group* found = nullptr;
  if (::getgrgid_r(gid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
  return entry.gr_name;
}

}  // namespace

Result<http::Endpoint> resolve_address(const std::string& option, const std::string& environment) {
  std::string from = "the default address";
  std::string url(kDefaultAddress);
  if (!environment.empty()) {
    from = "K3D_URL";
    url = environment;
  }
  if (!option.empty()) {
    from = "--url";
    url = option;
  }
  Result<http::Endpoint> endpoint = http::Endpoint::parse(url);
  if (endpoint) return endpoint;
  return fail(Code::invalid_request, from + " \"" + url + "\" is no address: " + endpoint.error().message,
              "write http://host:port or unix:/path");
}

Result<Secret> resolve_token(const std::string& file, const std::string& environment) {
  if (file.empty()) return Secret(trimmed(environment));
  Result<std::string> content = read_file(file, kMaxTokenFile);
  if (!content) return fail(content.error());
  std::string token = trimmed(*content);
  if (token.empty()) return fail(Code::invalid_request, file + " holds no token");
  return Secret(std::move(token));
}

SocketState look_at_socket(const std::string& path) {
  SocketState state;
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    // A folder that may not be entered hides the socket; its group is then the one to join.
    if (errno != EACCES) return state;
    state.exists = true;
    const std::string folder = std::filesystem::path(path).parent_path().string();
    if (::stat(folder.c_str(), &info) == 0) state.group = group_name(info.st_gid);
    return state;
  }
  state.exists = true;
  state.allowed = ::access(path.c_str(), W_OK) == 0;
  state.group = group_name(info.st_gid);
  return state;
}

std::string unreachable_advice(const http::Endpoint& endpoint, const SocketState& socket) {
  if (endpoint.unix_path.empty()) {
    return "Is k3d running on that host, and does control.listen have this address? See `systemctl status k3d` there.";
  }
  if (!socket.exists) {
    return "k3d is not running here, or listens elsewhere: start it with `systemctl start k3d`, or give its address "
           "with --url or K3D_URL.";
  }
  if (!socket.allowed) {
    const std::string group = socket.group.empty() ? "k3d" : socket.group;
    return "You may not use this socket. Its group may: `sudo usermod -aG " + group +
           " $USER`, then log in again (or use sudo).";
  }
  return "The socket is there but nobody listens: start k3d with `systemctl start k3d`, or see why it ended with "
         "`journalctl -u k3d -e`.";
}

}  // namespace k3d::api
