// The steps of a start or a switch, each the answer to an effect.
#include "daemon/lifecycle/transition.hpp"

namespace k3d::lifecycle {

using namespace state;  // NOLINT: the states are the vocabulary of this file

Step Transition::clear(const Target& target, const Launch& launch) const {
  Step out{Clearing{target, launch}, {}, {}};
  at(out, target.operation, "free_vram");
  out.effects.emplace_back(effect::Clear{launch});
  return out;
}

Step Transition::operator()(const Preparing& s, const event::Prepared& e) const {
  if (s.target.operation != e.operation || s.target.profile != e.launch.profile) return ignore("a stale preparation");
  Step out = s.serving ? drain(*s.serving, s.target, e.launch) : clear(s.target, e.launch);
  out.effects.emplace_back(effect::Persist{s.target.profile, s.target.fall_back_to, s.target.rolled_back_from});
  return out;
}

Step Transition::operator()(const Preparing& s, const event::PrepareFailed& e) const {
  if (s.target.operation != e.operation) return ignore("a stale preparation");
  if (!s.serving) return settle(s.target, e.failure, false);
  // Nothing was touched: the old profile never stopped serving.
  Step out{Ready{*s.serving, {}}, {}, {}};
  end(out, s.target.operation, OperationState::failed, error_of(e.failure), s.serving->launch.profile);
  return out;
}

Step Transition::operator()(const Draining& s, const event::Drained& e) const {
  if (s.serving.launch.attempt != e.attempt) return ignore("another engine's drain");
  Step out{Stopping{s.target, s.launch, std::nullopt, s.serving}, {}, {}};
  at(out, s.target.operation, "stop");
  out.effects.emplace_back(effect::Stop{s.serving});
  return out;
}

Step Transition::operator()(const Stopping& s, const event::EngineStopped& e) const {
  if (s.engine.launch.attempt != e.attempt) return ignore("another engine's end");
  if (s.failure) return settle(s.target, *s.failure, s.served);
  if (s.launch) return clear(s.target, *s.launch);
  if (!s.target.profile.empty()) return prepare(s.target, std::nullopt, s.target.fall_back_to);
  Step out{Stopped{}, {}, {}};
  end(out, s.target.operation, OperationState::succeeded);
  return out;
}

Step Transition::operator()(const Stopping& s, const event::StopFailed& e) const {
  if (s.engine.launch.attempt != e.attempt) return ignore("another engine's end");
  Step out{Failed{s.engine.launch.profile, e.failure, s.engine}, {}, {}};
  end(out, s.target.operation, OperationState::failed, error_of(e.failure));
  return out;
}

Step Transition::operator()(const Clearing& s, const event::VramFree& e) const {
  if (s.launch.attempt != e.attempt) return ignore("another attempt");
  Step out{Starting{s.target, s.launch}, {}, {}};
  at(out, s.target.operation, "start");
  out.effects.emplace_back(effect::Start{s.launch});
  return out;
}

Step Transition::operator()(const Clearing& s, const event::VramHeld& e) const {
  if (s.launch.attempt != e.attempt) return ignore("another attempt");
  return settle(s.target, e.failure, false);
}

Step Transition::operator()(const Starting& s, const event::Started& e) const {
  if (s.launch.attempt != e.engine.launch.attempt) return ignore("another attempt");
  if (s.target.profile != s.launch.profile) return stop_first(e.engine, s.target);  // superseded or cancelled meanwhile
  Step out{Loading{s.target, e.engine}, {}, {}};
  at(out, s.target.operation, "load");
  out.effects.emplace_back(effect::Watch{e.engine, true});
  return out;
}

Step Transition::operator()(const Starting& s, const event::StartFailed& e) const {
  if (s.launch.attempt != e.attempt) return ignore("another attempt");
  if (s.target.profile.empty()) {
    Step out{Stopped{}, {}, {}};
    end(out, s.target.operation, OperationState::succeeded);
    return out;
  }
  if (s.target.profile != s.launch.profile) return prepare(s.target, std::nullopt, s.target.fall_back_to);
  return settle(s.target, e.failure, false);
}

namespace {

Step ready(const Target& target, Engine engine, WallTime when) {
  engine.ready_at = when;
  Strikes strikes = target.strikes;
  strikes.loading = 0;
  strikes.docker = 0;
  Step out{Ready{engine, strikes}, {effect::Guard{engine}, effect::Persist{engine.launch.profile, {}, {}}}, {}};
  end(out, target.operation, OperationState::succeeded);
  return out;
}

}  // namespace

Step Transition::operator()(const Loading& s, const event::HealthOk& e) const {
  if (s.engine.launch.attempt != e.attempt) return ignore("another attempt");
  // A completion would queue behind the busy slots of an engine that was serving all the while.
  if (s.engine.adopted) return ready(s.target, s.engine, s.engine.started_at);
  Step out{Probing{s.target, s.engine}, {}, {}};
  at(out, s.target.operation, "probe");
  out.effects.emplace_back(effect::Probe{s.engine});
  return out;
}

Step Transition::operator()(const Probing& s, const event::ProbeOk& e) const {
  if (s.engine.launch.attempt != e.attempt) return ignore("another attempt");
  return ready(s.target, s.engine, e.at);
}

Step Transition::operator()(const Backoff& s, const event::RetryDue& e) const {
  if (s.retry_at != e.due) return ignore("another wait");
  return prepare(s.target, std::nullopt, {});
}

}  // namespace k3d::lifecycle
