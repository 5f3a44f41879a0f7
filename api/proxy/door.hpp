// A request's way in: under the snapshot's verdict it goes on, is answered, or is held until its profile takes
// requests.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <optional>
#include <string>

#include "api/proxy/hold.hpp"
#include "api/proxy/verdict.hpp"
#include "api/proxy/worker.hpp"

namespace k3d::proxy {

/// Neither of the two: the client has left.
struct Passage {
  SnapshotPtr snapshot;  ///< the request goes on under its route
  std::optional<Answer> answer;
};

class Door {
 public:
  using Judge = std::function<Verdict(const Snapshot&)>;

  Door(Worker& worker, asio::ip::tcp::socket& socket, std::string address)
      : worker_(worker), socket_(socket), address_(std::move(address)) {}

  /// Nothing else of this loop runs between the look at the snapshot and the return with it. A request that was held
  /// counts as waiting until it goes on or this object ends.
  Task<Passage> pass(Judge judge);

 private:
  struct Refusal {
    std::string profile;
    Error error;
  };

  /// What is to be said without asking (again).
  std::optional<Answer> settled(const Snapshot& snapshot, const Wait& wait) const;
  Task<void> ask(Wait wait, SnapshotPtr snapshot);

  Worker& worker_;
  asio::ip::tcp::socket& socket_;
  std::string address_;
  std::optional<Hold> hold_;
  std::optional<Refusal> refusal_;
  SnapshotPtr promised_;  ///< the snapshot under which the lifecycle said that the profile is ready
};

/// 429.
Answer too_many();

}  // namespace k3d::proxy
