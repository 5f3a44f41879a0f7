#include "daemon/hub/remote_headers.hpp"

#include <algorithm>

#include "daemon/base/async/offload.hpp"
#include "daemon/base/log.hpp"
#include "daemon/hub/remote_set.hpp"
#include "daemon/planning/split_set.hpp"

namespace k3d::hub {
namespace {

/// A set of Kimi-K3 takes about 1 MB.
constexpr std::size_t kMostKnown = 32;

struct Gathered {
  Result<HeadersPtr> headers;
  Status kept;
};

/// From complete shards to what is asked for and what is kept. Blocking.
Gathered gather(const std::filesystem::path& folder, const RemoteQuant& quant, std::vector<RemoteShard>& shards) {
  std::vector<planning::GgufFile> files;
  files.reserve(shards.size());
  for (RemoteShard& shard : shards) files.push_back(shard.take());
  auto joined = planning::join(std::move(files));
  if (!joined) return {fail(joined.error()), {}};
  return {std::make_shared<const planning::ModelHeaders>(std::move(*joined)), keep(folder, quant, shards)};
}

Error no_such_quant(const RemoteQuant& quant, const Error& error) {
  if (error.code != Code::not_found) return error;
  return {Code::files_missing, "the hub has no folder " + quant.quant + " in " + quant.repo + " at " + quant.revision,
          "mend model or quant; a repository that isn't public needs a token in hub.token_file", error.cause};
}

Error no_such_shard(const HubFile& file, const Error& error) {
  if (error.code != Code::not_found) return error;
  return {Code::files_missing, "the hub lists " + file.path + " but does not have it", "try again later", error.cause};
}

}  // namespace

/// One fetching of one quant, and whoever waits for it.
struct RemoteHeaders::Flight {
  Flight(const Executor& loop, RemoteQuant of) : quant(std::move(of)), landed(loop, SteadyTime::max()) {}

  RemoteQuant quant;
  std::vector<HubFile> files;
  std::vector<RemoteShard> shards;
  std::size_t next = 0;      ///< the shard that nobody reads yet
  std::size_t workers = 0;
  std::optional<Error> error;  ///< the first one's
  HeadersProgress progress;
  SteadyTime began = std::chrono::steady_clock::now();
  asio::steady_timer landed;
  std::optional<Result<HeadersPtr>> result;
};

RemoteHeaders::RemoteHeaders(Executor loop, Hub& hub, std::filesystem::path folder, int connections)
    : loop_(loop), hub_(hub), folder_(std::move(folder)), connections_(connections), tasks_(std::move(loop)) {}

Task<Result<HeadersPtr>> RemoteHeaders::read(Model model, std::string quant) {
  if (!is_quant_name(quant)) {
    co_return fail(Code::invalid_request, "that is no name of a quant", "`k3ctl quants` lists them");
  }
  const RemoteQuant wanted{model.repo, model.revision, quant};
  if (const auto known = known_.find(wanted); known != known_.end()) co_return known->second;
  FlightPtr flight = flights_[wanted];
  if (!flight) {
    flight = flights_[wanted] = std::make_shared<Flight>(loop_, wanted);
    tasks_.spawn(begin(flight));
  }
  if (!flight->result) co_await flight->landed.async_wait(tok);
  if (!flight->result) co_return fail(Code::cancelled, "the wait for headers from the hub was cancelled");
  co_return *flight->result;
}

std::optional<HeadersProgress> RemoteHeaders::progress(const Model& model, const std::string& quant) const {
  const auto flight = flights_.find(RemoteQuant{model.repo, model.revision, quant});
  return flight == flights_.end() ? std::nullopt : std::optional(flight->second->progress);
}

Task<void> RemoteHeaders::stop() {
  tasks_.cancel();
  co_await tasks_.join();
  while (!flights_.empty()) land(flights_.begin()->second, fail(Code::shutting_down, "k3d is stopping"));
}

Task<void> RemoteHeaders::begin(FlightPtr flight) {
  auto look = [folder = folder_, quant = flight->quant] { return read_kept(folder, quant); };
  std::optional<planning::ModelHeaders> kept = co_await offload(pool_, std::move(look));
  if (kept) {
    land(flight, std::make_shared<const planning::ModelHeaders>(std::move(*kept)));
    co_return;
  }
  HubFolder asked{flight->quant.repo, flight->quant.revision, flight->quant.quant};
  const Result<std::vector<HubFile>> listed = co_await hub_.list(std::move(asked));
  Result<std::vector<HubFile>> files = listed ? shards_of_quant(*listed, flight->quant.quant) : listed;
  if (!files) {
    land(flight, fail(no_such_quant(flight->quant, files.error())));
    co_return;
  }
  flight->files = std::move(*files);
  for (const HubFile& file : flight->files) {
    flight->shards.emplace_back(file.path.substr(file.path.rfind('/') + 1), file.size, flight->shards.empty());
  }
  flight->progress.shards = flight->shards.size();
  flight->workers = std::min<std::size_t>(static_cast<std::size_t>(connections_), flight->shards.size());
  for (std::size_t i = flight->workers; i > 0; --i) tasks_.spawn(work(flight));
}

/// Takes shard after shard; the last to find none left finishes.
Task<void> RemoteHeaders::work(FlightPtr flight) {
  while (!flight->error && flight->next < flight->shards.size()) {
    const std::size_t index = flight->next++;
    const Status read = co_await read_shard(flight, index);
    if (!read && !flight->error) flight->error = no_such_shard(flight->files[index], read.error());
    flight->progress.shards_done += read ? 1 : 0;
  }
  if (--flight->workers == 0) co_await finish(flight);
}

Task<Status> RemoteHeaders::read_shard(FlightPtr flight, std::size_t index) {
  RemoteShard& shard = flight->shards[index];
  HubRange range{flight->quant.repo, flight->quant.revision, flight->files[index], 0, 0, {}};
  while (const auto window = shard.next()) {
    range.offset = window->offset;
    range.length = window->length;
    Result<HubBytes> part = co_await hub_.read(range);
    if (!part) co_return fail(part.error());
    range.version = part->version;
    flight->progress.bytes += part->bytes.size();
    auto parse = [flight, &shard, bytes = std::move(part->bytes)]() mutable { return shard.feed(std::move(bytes)); };
    const Status fed = co_await offload(pool_, std::move(parse));
    if (!fed) co_return fed;
  }
  co_return Status();
}

Task<void> RemoteHeaders::finish(FlightPtr flight) {
  if (flight->error) {
    land(flight, fail(*flight->error));
    co_return;
  }
  auto join = [folder = folder_, flight] { return gather(folder, flight->quant, flight->shards); };
  Gathered gathered = co_await offload(pool_, std::move(join));
  if (!gathered.kept) log::warning("headers from the hub can't be kept", {{"cause", gathered.kept.error().text()}});
  const auto took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - flight->began);
  log::info("headers came from the hub", {{"repo", flight->quant.repo}, {"quant", flight->quant.quant},
                                          {"shards", flight->progress.shards}, {"bytes", flight->progress.bytes},
                                          {"ms", took.count()}});
  land(flight, std::move(gathered.headers));
}

void RemoteHeaders::land(FlightPtr flight, Result<HeadersPtr> result) {
  if (result) {
    if (known_.size() >= kMostKnown) known_.clear();
    known_[flight->quant] = *result;
  }
  flights_.erase(flight->quant);
  flight->result = std::move(result);
  flight->landed.cancel();
}

}  // namespace k3d::hub
