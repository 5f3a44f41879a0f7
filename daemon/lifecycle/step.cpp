#include "daemon/lifecycle/step.hpp"

#include "daemon/lifecycle/transition.hpp"

namespace k3d::lifecycle {

Step step(const InstanceState& state, const Event& event, const Facts& facts) {
  return std::visit(Transition{state, facts}, state, event);
}

void end(Step& out, const OperationId& operation, OperationState how, std::optional<OperationError> error,
         std::string rolled_back_to) {
  if (operation.empty()) return;
  out.effects.emplace_back(effect::OperationEnd{operation, how, std::move(error), std::move(rolled_back_to)});
}

void at(Step& out, const OperationId& operation, std::string step) {
  if (!operation.empty()) out.effects.emplace_back(effect::OperationStep{operation, std::move(step)});
}

OperationError superseded_error() { return {"superseded", "A newer request took its place", "", ""}; }

OperationError cancelled_error() { return {"cancelled", "It was cancelled", "", ""}; }

void supersede(Step& out, const OperationId& operation) {
  end(out, operation, OperationState::cancelled, superseded_error());
}

OperationError error_of(const Failure& failure) {
  return {failure.code, failure.title, failure.detail, failure.advice};
}

Target target_for(const std::string& profile, Strikes strikes) {
  Target target;
  target.profile = profile;
  target.strikes = strikes;
  return target;
}

std::string way_back_of(const Target& old) { return old.rolled_back_from.empty() ? old.fall_back_to : old.profile; }

}  // namespace k3d::lifecycle
