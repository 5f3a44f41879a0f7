#include "daemon/lifecycle/journal.hpp"

#include <boost/asio/post.hpp>

#include "daemon/base/async/offload.hpp"
#include "daemon/base/json.hpp"

namespace k3d::lifecycle {

Journal::Journal(Executor loop, Store& store, std::uint64_t newest_attempt_folder)
    : loop_(std::move(loop)), store_(store), newest_attempt_(newest_attempt_folder) {}

void Journal::enqueue(std::function<Status()> write) {
  asio::post(thread_, [this, write = std::move(write)] {
    const Status done = write();
    std::optional<Error> error;
    if (!done) error = done.error();
    asio::post(loop_, [this, error = std::move(error)] {
      if (on_outcome_) on_outcome_(error);
    });
  });
}

void Journal::save_desired(std::string profile) {
  enqueue([this, profile = std::move(profile)] { return store_.save_desired(profile); });
}

void Journal::save(Operation operation) {
  enqueue([this, operation = std::move(operation)] { return store_.save_operation(operation); });
}

void Journal::save(AuditEntry entry) {
  enqueue([this, entry = std::move(entry)] { return store_.append_audit(entry); });
}

Task<Result<std::vector<AuditEntry>>> Journal::load_audit(int limit, std::uint64_t before) {
  auto read = [this, limit, before] { return store_.load_audit(limit, before); };
  co_return co_await offload(thread_, std::move(read));
}

void Journal::save_overrides(std::string profile, Overrides set) {
  put("overrides/" + profile, dump_json(Json(set)));
}

Task<Overrides> Journal::load_overrides(std::string profile) {
  Overrides set;
  const std::optional<std::string> kept = co_await get("overrides/" + profile);
  const Result<Json> object = parse_json(kept.value_or("{}"));
  if (!object || !object->is_object()) co_return set;
  for (const auto& [key, value] : object->items()) {
    if (value.is_string()) set[key] = value.get<std::string>();
  }
  co_return set;
}

void Journal::put(std::string key, std::string value) {
  enqueue([this, key = std::move(key), value = std::move(value)] { return store_.put(key, value); });
}

Task<std::optional<std::string>> Journal::get(std::string key) {
  auto read = [this, key = std::move(key)] { return store_.get(key); };
  const auto value = co_await offload(thread_, std::move(read));
  co_return value ? *value : std::nullopt;
}

Task<std::uint64_t> Journal::next_attempt() {
  auto next = [this] { return store_.next_attempt(); };
  const Result<std::uint64_t> stored = co_await offload(thread_, std::move(next));
  newest_attempt_ = std::max(newest_attempt_ + 1, stored.value_or(0));
  if (!stored && on_outcome_) on_outcome_(stored.error());
  co_return newest_attempt_;
}

Task<Result<std::vector<Operation>>> Journal::load_operations(int limit) {
  auto read = [this, limit] { return store_.load_operations(limit); };
  co_return co_await offload(thread_, std::move(read));
}

Task<std::string> Journal::load_desired() {
  auto read = [this] { return store_.load_desired(); };
  const Result<std::string> desired = co_await offload(thread_, std::move(read));
  co_return desired.value_or("");
}

Task<void> Journal::flush() {
  auto nothing = [] { return true; };
  co_await offload(thread_, std::move(nothing));
}

}  // namespace k3d::lifecycle
