#include "api/http/listener.hpp"

#include <arpa/inet.h>
#include <grp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "daemon/base/files.hpp"
#include "daemon/base/host_port.hpp"

namespace k3d::api {
namespace {

constexpr int kBacklog = 1024;

/// An address of any family, as the kernel wants it.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Result<Address> unix_address(const std::string& path) {
  Address address;
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof un.sun_path) {
    return fail(Code::config_invalid, "\"" + path + "\" can't be a unix socket", "the path may have at most 107 bytes");
  }
  std::memcpy(un.sun_path, path.data(), path.size());
  std::memcpy(&address.storage, &un, sizeof un);
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

Result<Address> tcp_address(const std::string& text) {
  const Result<HostPort> parsed = parse_host_port(text);
  if (!parsed) return fail(parsed.error());
  const auto& [host, port] = *parsed;
  Address address;
  sockaddr_in in{};
  sockaddr_in6 in6{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  in6.sin6_family = AF_INET6;
  in6.sin6_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &in.sin_addr) == 1) {
    std::memcpy(&address.storage, &in, sizeof in);
    address.length = sizeof in;
  } else if (::inet_pton(AF_INET6, host.c_str(), &in6.sin6_addr) == 1) {
    std::memcpy(&address.storage, &in6, sizeof in6);
    address.length = sizeof in6;
  } else {
    return fail(Code::config_invalid, "\"" + text + "\" is no address", "write unix:/path or ADDRESS:PORT");
  }
  return address;
}

bool same(const Address& a, const sockaddr_storage& b, socklen_t length) {
  if (a.storage.ss_family != b.ss_family) return false;
  if (a.storage.ss_family == AF_UNIX) {
    return std::strcmp(reinterpret_cast<const sockaddr_un*>(&a.storage)->sun_path,
                       reinterpret_cast<const sockaddr_un*>(&b)->sun_path) == 0;
  }
  return a.length == length && std::memcmp(&a.storage, &b, length) == 0;
}

int passed_for(const Address& address, const std::vector<int>& passed) {
  for (const int fd : passed) {
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length) == 0 && same(address, bound, length)) return fd;
  }
  return -1;
}

/// The process that listens on the unix socket; 0 if it is not to be told, nothing if nobody answers.
std::optional<pid_t> who_answers(const Address& address) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return std::nullopt;
  const bool connected = ::connect(fd, address.get(), address.length) == 0;
  const bool answered = connected || errno == EAGAIN;
  ucred owner{};
  socklen_t size = sizeof owner;
  if (connected) ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &size);
  ::close(fd);
  return answered ? std::optional<pid_t>(owner.pid) : std::nullopt;
}

/// Others of its group must be able to get to the socket; who may use it is decided by its own mode.
Status make_socket_folder(const std::filesystem::path& folder) {
  std::error_code ec;
  if (std::filesystem::is_directory(folder, ec)) return {};
  if (Status made = make_folder(folder); !made) return made;
  if (::chmod(folder.c_str(), 0755) != 0) return fail(file_error("set the mode of", folder, errno));
  return {};
}

Status set_group(const std::string& path, const std::string& group) {
  if (group.empty()) return {};
  std::vector<char> buffer(16384);
  struct group entry{};
  struct group* found = nullptr;
  if (::getgrnam_r(group.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return fail(Code::config_invalid, "control.group \"" + group + "\" is no group of this host",
                "make it with `groupadd --system " + group + "`, or leave control.group out");
  }
  if (::chown(path.c_str(), static_cast<uid_t>(-1), found->gr_gid) != 0 && found->gr_gid != ::getegid()) {
    return fail(file_error("give to group " + group, path, errno));
  }
  return {};
}

std::unexpected<Error> cannot_listen(const std::string& address, int number) {
  const bool used = number == EADDRINUSE;
  return fail(used ? Code::conflict : Code::io_failed, "the control API can't listen on " + address,
              used ? "another program does (`ss -lxtnp` names it), or change control.listen" : "change control.listen",
              std::strerror(number));
}

Result<Listening> bind_unix(const std::string& path, const Address& address, const std::string& group) {
  if (const auto pid = who_answers(address)) {
    std::unexpected<Error> error = cannot_listen("unix:" + path, EADDRINUSE);
    if (*pid > 0) error.error().message += ": process " + std::to_string(*pid) + " listens there";
    return error;
  }
  if (Status made = make_socket_folder(std::filesystem::path(path).parent_path()); !made) return fail(made.error());
  struct stat st{};
  if (::lstat(path.c_str(), &st) == 0 && S_ISSOCK(st.st_mode)) ::unlink(path.c_str());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // The socket file gets the descriptor's mode, whatever the umask is: nobody else gets in before the group is set.
  if (fd < 0 || ::fchmod(fd, 0600) != 0 || ::bind(fd, address.get(), address.length) != 0 ||
      ::listen(fd, kBacklog) != 0) {
    const int number = errno;
    if (fd >= 0) ::close(fd);
    return cannot_listen("unix:" + path, number);
  }
  Status ready = set_group(path, group);
  if (ready && ::chmod(path.c_str(), 0660) != 0) ready = fail(file_error("set the mode of", path, errno));
  if (!ready) {
    ::close(fd);
    return fail(ready.error());
  }
  return Listening{fd, true, path};
}

Result<Listening> bind_tcp(const std::string& text, const Address& address) {
  const int fd = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (fd >= 0) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (fd < 0 || ::bind(fd, address.get(), address.length) != 0 || ::listen(fd, kBacklog) != 0) {
    const int number = errno;
    if (fd >= 0) ::close(fd);
    return cannot_listen(text, number);
  }
  return Listening{fd, false, {}};
}

}  // namespace

Result<Listening> listen_on(const std::string& address, const std::string& group, const std::vector<int>& passed) {
  const bool is_unix = address.starts_with("unix:");
  const std::string path = is_unix ? address.substr(5) : std::string();
  const Result<Address> parsed = is_unix ? unix_address(path) : tcp_address(address);
  if (!parsed) return fail(parsed.error());
  if (const int fd = passed_for(*parsed, passed); fd >= 0) return Listening{fd, is_unix, {}};
  return is_unix ? bind_unix(path, *parsed, group) : bind_tcp(address, *parsed);
}

}  // namespace k3d::api
