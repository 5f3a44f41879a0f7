// GET events: the status as Server-Sent Events, with the operations that changed and the engine's new lines.
#include <map>

#include "api/control/control.hpp"
#include "api/control/log_cursor.hpp"
#include "api/contract/operation.hpp"
#include "api/contract/status.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

constexpr milliseconds kLogInterval{250};
constexpr seconds kCommentInterval{15};
constexpr std::size_t kLinesAtOnce = 200;

std::string sse(std::string_view event, const std::string& id, const std::string& data) {
  return "event: " + std::string(event) + "\nid: " + id + "\ndata: " + data + "\n\n";
}

/// What one listener has been told.
class Feed {
 public:
  explicit Feed(ControlDependencies& deps) : deps_(deps) {
    for (const Operation& operation : deps.supervisor.snapshot()->operations) remember(operation);
  }

  /// Everything new since the last call.
  std::string next() {
    const SnapshotPtr snapshot = deps_.supervisor.snapshot();
    std::string out;
    if (snapshot->revision != revision_) {
      revision_ = snapshot->revision;
      out += sse("status", revision_, snapshot->status_json);
      for (const Operation& operation : snapshot->operations) {
        if (remember(operation)) out += sse("operation", revision_, operation_json(operation));
      }
    }
    return out + log_events(*snapshot);
  }

 private:
  /// True if the operation is not as it was last told.
  bool remember(const Operation& operation) {
    const std::string now = std::string(to_string(operation.state)) + operation.progress.step;
    std::string& told = told_[operation.id.value];
    if (told == now) return false;
    told = now;
    return true;
  }

  std::string log_events(const Snapshot& snapshot) {
    const std::uint64_t attempt = snapshot.engine ? snapshot.engine->attempt : 0;
    if (attempt == 0) return {};
    if (attempt != attempt_) {
      attempt_ = attempt;
      log_ = LogCursor(deps_.supervisor.log_file(attempt), true);
    }
    std::string out;
    for (const std::string& line : log_.next(kLinesAtOnce)) out += sse("log", revision_, log_event_json(attempt, line));
    return out;
  }

  ControlDependencies& deps_;
  std::string revision_;
  std::map<std::string, std::string> told_;
  std::uint64_t attempt_ = 0;
  LogCursor log_;
};

Task<void> get_events(ControlDependencies& deps, Exchange& exchange) {
  if (!co_await exchange.begin_stream("text/event-stream")) co_return;
  Feed feed(deps);
  SteadyTime told = std::chrono::steady_clock::now();
  for (bool alive = true; alive;) {
    const std::string revision = deps.supervisor.snapshot()->revision;
    std::string piece = feed.next();
    const SteadyTime now = std::chrono::steady_clock::now();
    if (piece.empty() && now - told >= kCommentInterval) piece = ": alive\n\n";
    if (!piece.empty()) {
      told = now;
      alive = co_await exchange.write(std::move(piece));
    }
    if (alive && !exchange.client_gone()) {
      co_await deps.supervisor.changed(revision, now + kLogInterval);
    } else {
      alive = false;
    }
  }
}

}  // namespace

std::vector<Route> event_routes(ControlDependencies& deps) {
  return {{"GET", "/api/v1/events", "get_events", Scope::read, [&deps](Exchange& e) { return get_events(deps, e); }}};
}

}  // namespace k3d::api
