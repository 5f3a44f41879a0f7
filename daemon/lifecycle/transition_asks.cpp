// What people, requests and other operations ask for.
#include "daemon/lifecycle/transition.hpp"

namespace k3d::lifecycle {

using namespace state;  // NOLINT: the states are the vocabulary of this file

namespace {

Target nothing(const event::Deactivate& e) {
  Target target;
  target.operation = e.operation;
  target.force = e.force;
  return target;
}

/// Asked to go back to what still runs, before anything was touched. `undo` ends what was under way.
Step keep_serving(const Engine& engine, const Target& old, const Target& next, Effect undo) {
  Step out{Ready{engine, {}}, {std::move(undo), effect::Persist{engine.launch.profile, {}, {}}}, {}};
  supersede(out, old.operation);
  end(out, next.operation, OperationState::succeeded);
  return out;
}

bool is_served_by(const Engine& engine, const Target& target) {
  return engine.launch.profile == target.profile && !target.restart;
}

Step down_now(const event::Deactivate& e) {
  Step out{Stopped{}, {effect::Persist{}}, {}};
  end(out, e.operation, OperationState::succeeded);
  return out;
}

}  // namespace

// ---- activate -------------------------------------------------------------------------------------------------------

Step Transition::prepare(Target target, std::optional<Engine> serving, const std::string& from) const {
  target = with_way_back(std::move(target), from);
  Step out{Preparing{target, std::move(serving)}, {}, {}};
  at(out, target.operation, "prepare");
  out.effects.emplace_back(effect::Prepare{target});
  return out;
}

Target Transition::with_way_back(Target next, const std::string& from) const {
  if (facts.roll_back && next.fall_back_to.empty() && from != next.profile) next.fall_back_to = from;
  return next;
}

Step Transition::stop_first(const Engine& engine, const Target& next) const {
  Step out{Stopping{next, std::nullopt, std::nullopt, engine}, {}, {}};
  at(out, next.operation, "stop");
  out.effects.emplace_back(effect::Stop{engine});
  return out;
}

Step Transition::operator()(const Stopped&, const event::Activate& e) const {
  return prepare(e.target, std::nullopt, {});
}

Step Transition::operator()(const Failed& s, const event::Activate& e) const {
  return s.left ? stop_first(*s.left, e.target) : prepare(e.target, std::nullopt, {});
}

Step Transition::operator()(const Backoff& s, const event::Activate& e) const {
  Step out = prepare(e.target, std::nullopt, {});
  out.effects.insert(out.effects.begin(), effect::CancelPrepare{});
  supersede(out, s.target.operation);
  return out;
}

Step Transition::operator()(const Held& s, const event::Activate& e) const {
  Step out{Held{s.holder, e.target, s.before}, {effect::Preempt{s.holder}}, {}};
  supersede(out, s.next.operation);
  at(out, e.target.operation, "wait");
  return out;
}

Step Transition::operator()(const Ready& s, const event::Activate& e) const {
  if (!is_served_by(s.engine, e.target)) return prepare(e.target, s.engine, s.engine.launch.profile);
  Step out{Ready{s.engine, {}}, {}, {}};
  end(out, e.target.operation, OperationState::succeeded);
  return out;
}

Step Transition::operator()(const Preparing& s, const event::Activate& e) const {
  if (s.serving && is_served_by(*s.serving, e.target)) {
    return keep_serving(*s.serving, s.target, e.target, effect::CancelPrepare{});
  }
  Step out = prepare(e.target, s.serving, s.serving ? s.serving->launch.profile : way_back_of(s.target));
  out.effects.insert(out.effects.begin(), effect::CancelPrepare{});
  supersede(out, s.target.operation);
  return out;
}

Step Transition::operator()(const Draining& s, const event::Activate& e) const {
  if (is_served_by(s.serving, e.target)) return keep_serving(s.serving, s.target, e.target, effect::CancelDrain{});
  // It serves again until the newer target is known to be able to start.
  Step out = prepare(e.target, s.serving, s.serving.launch.profile);
  out.effects.insert(out.effects.begin(), effect::CancelDrain{});
  out.effects.emplace_back(effect::Persist{s.serving.launch.profile, {}, {}});
  supersede(out, s.target.operation);
  return out;
}

Step Transition::operator()(const Stopping& s, const event::Activate& e) const {
  const Target next = with_way_back(e.target, way_back_of(s.target));
  Step out{Stopping{next, std::nullopt, std::nullopt, s.engine}, {}, {}};
  supersede(out, s.target.operation);
  at(out, next.operation, "stop");
  return out;
}

Step Transition::operator()(const Clearing& s, const event::Activate& e) const {
  Step out = prepare(e.target, std::nullopt, way_back_of(s.target));
  out.effects.insert(out.effects.begin(), effect::CancelPrepare{});
  supersede(out, s.target.operation);
  return out;
}

Step Transition::operator()(const Starting& s, const event::Activate& e) const {
  // The container is being created: wait until it is there, then stop it. Started sees the changed target.
  const Target next = with_way_back(e.target, way_back_of(s.target));
  Step out{Starting{next, s.launch}, {}, {}};
  supersede(out, s.target.operation);
  at(out, next.operation, "start");
  return out;
}

namespace {

/// k3d's own doing becomes that of an operation: the load goes on.
template <class State>
std::optional<Step> join(const State& state, const Target& next) {
  if (state.target.profile != next.profile || next.restart || !state.target.operation.empty()) return std::nullopt;
  Step out{state, {}, {}};
  std::get<State>(out.state).target.operation = next.operation;
  at(out, next.operation, std::is_same_v<State, Loading> ? "load" : "probe");
  return out;
}

/// An engine that was found running may have served all the while: it is what can be returned to.
Step give_way(const Transition& self, const Engine& engine, const Target& old, Target next) {
  const std::string back = way_back_of(old);
  const bool served = back.empty() && engine.adopted;
  Step out = self.stop_first(engine, self.with_way_back(std::move(next), served ? engine.launch.profile : back));
  supersede(out, old.operation);
  return out;
}

}  // namespace

Step Transition::operator()(const Loading& s, const event::Activate& e) const {
  if (auto joined = join(s, e.target)) return *joined;
  return give_way(*this, s.engine, s.target, e.target);
}
Step Transition::operator()(const Probing& s, const event::Activate& e) const {
  if (auto joined = join(s, e.target)) return *joined;
  return give_way(*this, s.engine, s.target, e.target);
}

// ---- deactivate -----------------------------------------------------------------------------------------------------

Step Transition::drain(const Engine& engine, const Target& target, std::optional<Launch> launch) const {
  Step out{Draining{target, std::move(launch), engine}, {}, {}};
  at(out, target.operation, "drain");
  out.effects.emplace_back(effect::Drain{engine, target.force});
  return out;
}

Step Transition::operator()(const Stopped&, const event::Deactivate& e) const { return down_now(e); }

Step Transition::operator()(const Failed& s, const event::Deactivate& e) const {
  if (!s.left) return down_now(e);
  Step out = stop_first(*s.left, nothing(e));
  out.effects.emplace_back(effect::Persist{});
  return out;
}

Step Transition::operator()(const Ready& s, const event::Deactivate& e) const {
  Step out = drain(s.engine, nothing(e), std::nullopt);
  out.effects.emplace_back(effect::Persist{});
  return out;
}

Step Transition::operator()(const Preparing& s, const event::Deactivate& e) const {
  Step out = s.serving ? drain(*s.serving, nothing(e), std::nullopt) : down_now(e);
  if (s.serving) out.effects.emplace_back(effect::Persist{});
  out.effects.insert(out.effects.begin(), effect::CancelPrepare{});
  supersede(out, s.target.operation);
  return out;
}

Step Transition::operator()(const Draining& s, const event::Deactivate& e) const {
  Step out{Draining{nothing(e), std::nullopt, s.serving}, {}, {}};
  supersede(out, s.target.operation);
  at(out, e.operation, "drain");
  if (e.force) out.effects.emplace_back(effect::Drain{s.serving, true});
  out.effects.emplace_back(effect::Persist{});
  return out;
}

Step Transition::operator()(const Stopping& s, const event::Deactivate& e) const {
  Step out{Stopping{nothing(e), std::nullopt, std::nullopt, s.engine}, {}, {}};
  supersede(out, s.target.operation);
  at(out, e.operation, "stop");
  out.effects.emplace_back(effect::Persist{});
  return out;
}

Step Transition::operator()(const Clearing& s, const event::Deactivate& e) const {
  Step out = down_now(e);
  out.effects.insert(out.effects.begin(), effect::CancelPrepare{});
  supersede(out, s.target.operation);
  return out;
}

Step Transition::operator()(const Starting& s, const event::Deactivate& e) const {
  Step out{Starting{nothing(e), s.launch}, {}, {}};
  supersede(out, s.target.operation);
  at(out, e.operation, "stop");
  out.effects.emplace_back(effect::Persist{});
  return out;
}

namespace {

Step stop_for(const Transition& self, const Engine& engine, const Target& old, const event::Deactivate& e) {
  Step out = self.stop_first(engine, nothing(e));
  supersede(out, old.operation);
  out.effects.emplace_back(effect::Persist{});
  return out;
}

}  // namespace

Step Transition::operator()(const Loading& s, const event::Deactivate& e) const {
  return stop_for(*this, s.engine, s.target, e);
}
Step Transition::operator()(const Probing& s, const event::Deactivate& e) const {
  return stop_for(*this, s.engine, s.target, e);
}

Step Transition::operator()(const Backoff& s, const event::Deactivate& e) const {
  Step out = down_now(e);
  out.effects.insert(out.effects.begin(), effect::CancelPrepare{});
  supersede(out, s.target.operation);
  return out;
}

Step Transition::operator()(const Held& s, const event::Deactivate& e) const {
  Step out = down_now(e);
  out.state = Held{s.holder, {}, std::nullopt};
  supersede(out, s.next.operation);
  return out;
}

Step Transition::operator()(const Ready& s, const event::Idle& e) const {
  if (s.engine.launch.attempt != e.attempt) return ignore("another attempt");
  Step out = drain(s.engine, Target{}, std::nullopt);
  out.effects.emplace_back(effect::Persist{});
  return out;
}

// ---- cancel: before the old engine is stopped it goes on serving; after that nothing runs ---------------------------

namespace {

Step cancel(const Transition& self, const OperationId& ours, const OperationId& asked, Step out) {
  if (ours != asked || asked.empty()) return self.ignore("the operation is not under way");
  end(out, asked, OperationState::cancelled, cancelled_error());
  return out;
}

Step cancel_engine(const Transition& self, const Engine& engine, const Target& target, const event::Cancel& e) {
  Step out{Stopping{{}, std::nullopt, std::nullopt, engine}, {effect::Persist{}, effect::Stop{engine}}, {}};
  return cancel(self, target.operation, e.operation, std::move(out));
}

}  // namespace

Step Transition::operator()(const Preparing& s, const event::Cancel& e) const {
  Step out{s.serving ? InstanceState(Ready{*s.serving, {}}) : InstanceState(Stopped{}), {effect::CancelPrepare{}}, {}};
  if (!s.serving) out.effects.emplace_back(effect::Persist{});
  return cancel(*this, s.target.operation, e.operation, std::move(out));
}

Step Transition::operator()(const Draining& s, const event::Cancel& e) const {
  Step out{Ready{s.serving, {}}, {effect::CancelDrain{}, effect::Persist{s.serving.launch.profile, {}, {}}}, {}};
  return cancel(*this, s.target.operation, e.operation, std::move(out));
}

Step Transition::operator()(const Stopping& s, const event::Cancel& e) const {
  Step out{Stopping{{}, std::nullopt, std::nullopt, s.engine}, {effect::Persist{}}, {}};
  return cancel(*this, s.target.operation, e.operation, std::move(out));
}

Step Transition::operator()(const Clearing& s, const event::Cancel& e) const {
  Step out{Stopped{}, {effect::CancelPrepare{}, effect::Persist{}}, {}};
  return cancel(*this, s.target.operation, e.operation, std::move(out));
}

Step Transition::operator()(const Starting& s, const event::Cancel& e) const {
  Step out{Starting{{}, s.launch}, {effect::Persist{}}, {}};
  return cancel(*this, s.target.operation, e.operation, std::move(out));
}

Step Transition::operator()(const Loading& s, const event::Cancel& e) const {
  return cancel_engine(*this, s.engine, s.target, e);
}
Step Transition::operator()(const Probing& s, const event::Cancel& e) const {
  return cancel_engine(*this, s.engine, s.target, e);
}

Step Transition::operator()(const Backoff& s, const event::Cancel& e) const {
  Step out{Stopped{}, {effect::CancelPrepare{}, effect::Persist{}}, {}};
  return cancel(*this, s.target.operation, e.operation, std::move(out));
}

Step Transition::operator()(const Held& s, const event::Cancel& e) const {
  Step out{Held{s.holder, {}, s.before}, {}, {}};
  return cancel(*this, s.next.operation, e.operation, std::move(out));
}

// ---- operations that need the GPUs for themselves -------------------------------------------------------------------

Step Transition::operator()(const Stopped&, const event::Hold& e) const {
  return {Held{e.holder, {}, std::nullopt}, {}, {}};
}

Step Transition::operator()(const Failed& s, const event::Hold& e) const {
  if (s.left) return ignore("an engine could not be stopped");
  return {Held{e.holder, {}, s}, {}, {}};
}

Step Transition::operator()(const Held& s, const event::Release& e) const {
  if (s.holder != e.holder) return ignore("another operation holds the GPUs");
  if (!s.next.profile.empty()) return prepare(s.next, std::nullopt, s.next.fall_back_to);
  if (s.before) return {*s.before, {}, {}};
  return {Stopped{}, {}, {}};
}

}  // namespace k3d::lifecycle
