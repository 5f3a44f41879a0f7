// What a state says to those who don't care which one it is.
#include "daemon/lifecycle/step.hpp"

namespace k3d::lifecycle {

using namespace state;  // NOLINT: the states are the vocabulary of this file

const Target* target_of(const InstanceState& state) {
  struct {
    const Target* operator()(const Stopped&) const { return nullptr; }
    const Target* operator()(const Ready&) const { return nullptr; }
    const Target* operator()(const Failed&) const { return nullptr; }
    const Target* operator()(const Preparing& s) const { return &s.target; }
    const Target* operator()(const Draining& s) const { return &s.target; }
    const Target* operator()(const Stopping& s) const { return &s.target; }
    const Target* operator()(const Clearing& s) const { return &s.target; }
    const Target* operator()(const Starting& s) const { return &s.target; }
    const Target* operator()(const Loading& s) const { return &s.target; }
    const Target* operator()(const Probing& s) const { return &s.target; }
    const Target* operator()(const Backoff& s) const { return &s.target; }
    const Target* operator()(const Held& s) const { return &s.next; }
  } visitor;
  return std::visit(visitor, state);
}

std::string target_profile(const InstanceState& state) {
  if (const auto* s = std::get_if<Ready>(&state)) return s->engine.launch.profile;
  if (const auto* s = std::get_if<Failed>(&state)) return s->profile;
  const Target* target = target_of(state);
  return target == nullptr ? std::string() : target->profile;
}

std::string active_profile(const InstanceState& state) {
  if (const auto* s = std::get_if<Ready>(&state)) return s->engine.launch.profile;
  if (const auto* s = std::get_if<Draining>(&state)) return s->serving.launch.profile;
  const auto* s = std::get_if<Preparing>(&state);
  return s != nullptr && s->serving ? s->serving->launch.profile : std::string();
}

const Engine* running_engine(const InstanceState& state) {
  struct {
    const Engine* operator()(const Stopped&) const { return nullptr; }
    const Engine* operator()(const Clearing&) const { return nullptr; }
    const Engine* operator()(const Starting&) const { return nullptr; }
    const Engine* operator()(const Backoff&) const { return nullptr; }
    const Engine* operator()(const Held&) const { return nullptr; }
    const Engine* operator()(const Failed& s) const { return s.left ? &*s.left : nullptr; }
    const Engine* operator()(const Preparing& s) const { return s.serving ? &*s.serving : nullptr; }
    const Engine* operator()(const Draining& s) const { return &s.serving; }
    const Engine* operator()(const Stopping& s) const { return &s.engine; }
    const Engine* operator()(const Loading& s) const { return &s.engine; }
    const Engine* operator()(const Probing& s) const { return &s.engine; }
    const Engine* operator()(const Ready& s) const { return &s.engine; }
  } visitor;
  return std::visit(visitor, state);
}

OperationId operation_of(const InstanceState& state) {
  const Target* target = target_of(state);
  return target == nullptr ? OperationId() : target->operation;
}

Strikes strikes_of(const InstanceState& state) {
  if (const auto* s = std::get_if<Ready>(&state)) return s->strikes;
  const Target* target = target_of(state);
  return target == nullptr ? Strikes() : target->strikes;
}

}  // namespace k3d::lifecycle
