#include "daemon/lifecycle/journal.hpp"

#include <boost/asio/post.hpp>

#include "daemon/base/async/offload.hpp"
#include "daemon/base/json.hpp"

namespace k3d::lifecycle {

Journal::Journal(Executor loop, Store& store, std::uint64_t newest_attempt_folder, milliseconds pause)
    : loop_(std::move(loop)), store_(store), newest_attempt_(newest_attempt_folder), pause_(pause) {}

Journal::~Journal() {
  thread_.stop();
  thread_.join();
  *on_outcome_ = {};
}

void Journal::enqueue(Write write) {
  asio::post(thread_, [this, write = std::move(write)]() mutable {
    unwritten_.add(std::move(write));
    write_all();
  });
}

/// On the store's thread.
void Journal::write_all() {
  std::optional<Error> error = unwritten_.write_all();
  again_.cancel();
  if (error) {
    again_.expires_after(pause_);
    again_.async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled) write_all();
    });
  }
  asio::post(loop_, [tell = on_outcome_, error = std::move(error)] {
    if (*tell) (*tell)(error);
  });
}

void Journal::save_desired(std::string profile) {
  enqueue({"desired", [this, profile = std::move(profile)] { return store_.save_desired(profile); }});
}

void Journal::save(Operation operation) {
  const std::string key = "operation/" + operation.id.value;
  enqueue({key, [this, operation = std::move(operation)] { return store_.save_operation(operation); }, true});
}

void Journal::save(AuditEntry entry) {
  const std::string key = "audit/" + std::to_string(++audited_);
  enqueue({key, [this, entry = std::move(entry)] { return store_.append_audit(entry); }, true});
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
  const std::string name = "kept/" + key;
  enqueue({name, [this, key = std::move(key), value = std::move(value)] { return store_.put(key, value); }});
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
  if (!stored && *on_outcome_) (*on_outcome_)(stored.error());
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
  auto rest = [this] {
    if (unwritten_.size() > 0) write_all();
    return true;
  };
  co_await offload(thread_, std::move(rest));
}

}  // namespace k3d::lifecycle
