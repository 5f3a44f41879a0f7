// The headers of a quant whose files aren't here: its shards' first kilobytes from the hub, several at a time, and from
// then on from what was kept. Of one loop; nothing is parsed on it. Not here: the hub's protocol (adapters/hf_hub).
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "daemon/base/async/task_group.hpp"
#include "daemon/hub/remote_cache.hpp"
#include "daemon/model/settings.hpp"
#include "daemon/ports/hub.hpp"

namespace k3d::hub {

using HeadersPtr = std::shared_ptr<const planning::ModelHeaders>;

struct HeadersProgress {
  std::size_t shards = 0, shards_done = 0;  ///< shards is 0 until the hub has listed them
  Bytes bytes = 0;                          ///< of files, so far
};

class RemoteHeaders {
 public:
  /// `hub` outlives this. `folder` is made when there is something to keep. `connections`: shards at a time.
  RemoteHeaders(Executor loop, Hub& hub, std::filesystem::path folder, int connections);

  /// Whoever asks for the same meanwhile waits for the same answer; cancelling one of them ends only its own waiting.
  /// Errors: the hub's, with files_missing for a folder that it doesn't have; those of shards_of_quant, of the GGUF
  /// parser and of planning::join; invalid_request (a name that none can have).
  Task<Result<HeadersPtr>> read(Model model, std::string quant);
  /// Of what is being fetched now; nothing if it isn't.
  [[nodiscard]] std::optional<HeadersProgress> progress(const Model& model, const std::string& quant) const;
  /// Ends what is going on, with Code::shutting_down for those who wait.
  Task<void> stop();

 private:
  struct Flight;
  using FlightPtr = std::shared_ptr<Flight>;

  Task<void> begin(FlightPtr flight);
  Task<void> work(FlightPtr flight);
  Task<Status> read_shard(FlightPtr flight, std::size_t index);
  Task<void> finish(FlightPtr flight);
  void land(FlightPtr flight, Result<HeadersPtr> result);

  Executor loop_;
  Hub& hub_;
  std::filesystem::path folder_;
  int connections_;
  std::map<RemoteQuant, HeadersPtr> known_;
  std::map<RemoteQuant, FlightPtr> flights_;
  TaskGroup tasks_;
  asio::thread_pool pool_{1};  ///< last: it ends before what its work uses
};

}  // namespace k3d::hub
