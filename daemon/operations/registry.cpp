#include "daemon/operations/registry.hpp"

#include <algorithm>

#include "daemon/base/secret.hpp"

namespace k3d::operations {
namespace {

void finish_steps(Operation& operation, OperationState state, WallTime now) {
  for (OperationStep& step : operation.steps) {
    if (step.finished_at) continue;
    step.finished_at = now;
    step.state = state;
  }
}

/// What is wanted of the engine is still wanted; other work has lost what it held.
bool goes_on(OperationKind kind) { return kind == OperationKind::activate || kind == OperationKind::deactivate; }

void interrupt(Operation& operation, WallTime now) {
  finish_steps(operation, OperationState::failed, now);
  operation.state = OperationState::failed;
  operation.finished_at = now;
  operation.error = OperationError{std::string(to_string(Code::interrupted)), std::string(title(Code::interrupted)),
                                   "k3d ended while this was under way", "ask for it again"};
}

}  // namespace

std::vector<Operation> Registry::restore(std::vector<Operation> remembered, WallTime now) {
  std::vector<Operation> going_on;
  for (Operation& operation : remembered) {
    if (find(operation.id) != nullptr) continue;  // made since the start, and written down before this was read
    const bool open = !operation.ended();
    if (open && goes_on(operation.kind)) {
      going_on.push_back(operation);
    } else if (open) {
      interrupt(operation, now);
    }
    all_.push_back(std::move(operation));
    if (open && all_.back().ended()) save_(all_.back());
  }
  return going_on;
}

const Operation& Registry::create(OperationKind kind, std::string profile, std::string reason, std::string asked_by,
                                  WallTime now) {
  Operation operation;
  operation.id = OperationId(random_hex(8));
  operation.kind = kind;
  operation.state = OperationState::running;
  operation.profile = std::move(profile);
  operation.reason = std::move(reason);
  operation.asked_by = std::move(asked_by);
  operation.created_at = now;
  all_.push_front(std::move(operation));
  while (all_.size() > kKept && all_.back().ended()) all_.pop_back();
  save_(all_.front());
  return all_.front();
}

void Registry::step(const OperationId& id, const std::string& step, WallTime now) {
  Operation* operation = find_running(id);
  if (operation == nullptr || operation->progress.step == step) return;
  finish_steps(*operation, OperationState::succeeded, now);
  operation->steps.push_back({step, OperationState::running, now, std::nullopt});
  operation->progress = Progress{};
  operation->progress.step = step;
  save_(*operation);
}

void Registry::progress(const OperationId& id, const Progress& progress) {
  if (Operation* operation = find_running(id)) operation->progress = progress;
}

void Registry::end(const OperationId& id, OperationState state, std::optional<OperationError> error,
                   std::string rolled_back_to, WallTime now) {
  Operation* operation = find_running(id);
  if (operation == nullptr) return;
  finish_steps(*operation, state, now);
  operation->state = state;
  operation->error = std::move(error);
  operation->rolled_back_to = std::move(rolled_back_to);
  operation->finished_at = now;
  save_(*operation);
}

const Operation* Registry::find(const OperationId& id) const {
  const auto found = std::find_if(all_.begin(), all_.end(), [&id](const Operation& o) { return o.id == id; });
  return found == all_.end() ? nullptr : &*found;
}

Operation* Registry::find_running(const OperationId& id) {
  const auto found = std::find_if(all_.begin(), all_.end(), [&id](const Operation& o) { return o.id == id; });
  return found == all_.end() || found->ended() ? nullptr : &*found;
}

}  // namespace k3d::operations
