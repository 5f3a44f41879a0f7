// One HTTP exchange by libcurl: what is asked, what came back, and the easy handle between them. Follows no redirect
// and tries nothing again: whoever asks decides. Not here: the thread that drives transfers (curl_thread).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/secret.hpp"
#include "daemon/base/units.hpp"

namespace k3d::adapters {

struct ByteRange {
  Bytes offset = 0, length = 0;
};

struct CurlRequest {
  std::string url;
  std::vector<std::string> headers;  ///< "Name: value"
  Secret bearer;                     ///< empty: none is sent
  std::optional<ByteRange> range;
  Bytes body_limit = kMiB;       ///< what is longer is cut there and the transfer ended
  bool public_only = false;      ///< refuse a server at a private, loopback or link-local address
  milliseconds limit{120'000};   ///< for the whole exchange
};

struct CurlAnswer {
  int status = 0;                              ///< 0: there was no answer; then `trouble` says why
  std::map<std::string, std::string> headers;  ///< by name in lower case; of one that came twice the last
  std::string body;
  bool cut = false;         ///< the body was longer than the limit
  std::string address;      ///< of the server, or of the proxy on the way
  bool proxied = false;     ///< there may be one: the environment names proxies
  std::string trouble;      ///< libcurl's words if the exchange broke off, also within the body; without the URL
  bool refused_here = false;  ///< its address or certificate, or the request can't be made: no use to try again

  [[nodiscard]] bool complete() const { return status != 0 && trouble.empty(); }
  /// Empty if there is none.
  [[nodiscard]] std::string header(const std::string& name) const;
};

struct CurlOptions {
  std::string ca_file;   ///< of further authorities; empty: the system's alone
  std::string agent = "k3d";
  int connections = 8;   ///< at once
  milliseconds connect_limit{15'000};
  seconds stall_limit{20};  ///< without a byte
};

/// Loopback, private, link-local, unspecified, and IPv6's forms of them. What is no address counts as private.
bool is_private_address(const std::string& address);

class CurlTransfer {
 public:
  CurlTransfer(CurlRequest request, const CurlOptions& options);
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;
  ~CurlTransfer();

  /// A CURL*; its CURLOPT_PRIVATE is this transfer.
  [[nodiscard]] void* handle() const;
  /// `code` is the CURLcode that the transfer ended with.
  CurlAnswer finish(int code);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace k3d::adapters
