// One request and its answer, as handlers see them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/http/request_head.hpp"
#include "daemon/base/async/task.hpp"

namespace k3d::api {

struct Response {
  unsigned status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string content_type;
  std::string body;
  std::shared_ptr<const std::string> shared_body;  ///< instead of `body`: sent to many without a copy
};

struct Peer {
  bool unix_socket = false;
  std::optional<unsigned> uid;  ///< of a unix socket's other end
  std::string address;
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  [[nodiscard]] virtual const RequestHead& head() const = 0;
  [[nodiscard]] virtual const std::string& body() const = 0;
  [[nodiscard]] virtual const Peer& peer() const = 0;
  [[nodiscard]] const std::map<std::string, std::string>& parameters() const { return parameters_; }
  void set_parameters(std::map<std::string, std::string> parameters) { parameters_ = std::move(parameters); }

  virtual Task<void> reply(Response response) = 0;
  /// Begins a body of unknown length; false if the client is gone.
  virtual Task<bool> begin_stream(std::string content_type) = 0;
  /// Sends a piece at once; false if the client is gone.
  virtual Task<bool> write(std::string piece) = 0;
  [[nodiscard]] virtual bool client_gone() const = 0;

 private:
  std::map<std::string, std::string> parameters_;
};

}  // namespace k3d::api
