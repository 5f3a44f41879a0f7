// The operations of this daemon: made, moved, ended, listed. Every change is handed to the saver that outlives k3d.
// Of the control loop; decides nothing.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "daemon/model/operation.hpp"

namespace k3d::operations {

class Registry {
 public:
  using Save = std::function<void(const Operation&)>;
  explicit Registry(Save save) : save_(std::move(save)) {}

  /// What the store remembers, newest first. Of those that were under way when k3d ended, activations and
  /// deactivations stay so and are answered, newest first: they go on. The others are over: `interrupted`.
  std::vector<Operation> restore(std::vector<Operation> remembered, WallTime now);

  const Operation& create(OperationKind kind, std::string profile, std::string reason, std::string asked_by,
                          WallTime now);
  /// The operation enters `step`; the step before it is done.
  void step(const OperationId& id, const std::string& step, WallTime now);
  /// Figures only: not saved.
  void progress(const OperationId& id, const Progress& progress);
  void end(const OperationId& id, OperationState state, std::optional<OperationError> error,
           std::string rolled_back_to, WallTime now);

  [[nodiscard]] const Operation* find(const OperationId& id) const;
  /// Newest first, at most kKept.
  [[nodiscard]] std::vector<Operation> list() const { return {all_.begin(), all_.end()}; }

  static constexpr std::size_t kKept = 100;

 private:
  Operation* find_running(const OperationId& id);

  std::list<Operation> all_;
  Save save_;
};

}  // namespace k3d::operations
