// Engines that end, are given up, or are found.
#include "daemon/lifecycle/backoff.hpp"
#include "daemon/lifecycle/transition.hpp"

namespace k3d::lifecycle {

using namespace state;  // NOLINT: the states are the vocabulary of this file

namespace {

/// The operation ends here: the return is k3d's own doing and is seen in the status.
Step roll_back(const Target& target, const Failure& failure) {
  Target back = target_for(target.fall_back_to, {});
  back.rolled_back_from = target.profile;
  Step out{Preparing{back, std::nullopt}, {}, {}};
  end(out, target.operation, OperationState::failed, error_of(failure), back.profile);
  out.effects.emplace_back(effect::Persist{back.profile, {}, back.rolled_back_from});
  out.effects.emplace_back(effect::Prepare{back});
  return out;
}

}  // namespace

Step Transition::settle(Target target, const Failure& failure, bool served) const {
  if (!target.fall_back_to.empty()) return roll_back(target, failure);
  const std::optional<seconds> served_for = served ? std::optional(facts.served_for) : std::nullopt;
  const RetryVerdict verdict = judge_retry(target.strikes, failure, served_for, !target.operation.empty());
  if (!verdict.again) {
    Step out{Failed{target.profile, failure}, {}, {}};
    end(out, target.operation, OperationState::failed, error_of(failure));
    return out;
  }
  target.strikes = verdict.strikes;
  const WallTime due = facts.now + verdict.delay;
  Step out{Backoff{target, failure, verdict.attempt, verdict.limit, due}, {}, {}};
  at(out, target.operation, "backoff");
  out.effects.emplace_back(effect::Retry{due, verdict.delay});
  return out;
}

namespace {

Step give_up(const Transition& self, const Engine& engine, const Target& target, const event::GaveUp& e, bool served) {
  if (engine.launch.attempt != e.attempt) return self.ignore("another attempt");
  Step out = self.stop_first(engine, target);
  out.state = Stopping{target, std::nullopt, e.failure, engine, served};
  return out;
}

Step lost(const Transition& self, const Engine& engine, const Target& target, const event::Exited& e, bool served) {
  if (engine.launch.attempt != e.attempt) return self.ignore("another attempt");
  Step out = self.settle(target, e.failure, served);
  out.effects.insert(out.effects.begin(), effect::Discard{engine});
  return out;
}

Step adopt(const Target& target, const Engine& engine) {
  const effect::Persist wanted{target.profile, target.fall_back_to, target.rolled_back_from};
  return {Loading{target, engine}, {wanted, effect::Watch{engine, true}}, {}};
}

/// Something runs while another try or the first was on its way. Another profile than the wanted one makes room first.
Step adopt_meanwhile(const Transition& self, const Target& target, const Engine& engine) {
  const bool wanted = target.profile == engine.launch.profile && !target.restart;
  Step out = wanted ? adopt(target, engine)
                    : self.stop_first(engine, self.with_way_back(target, engine.launch.profile));
  out.effects.insert(out.effects.begin(), effect::CancelPrepare{});
  if (wanted) at(out, target.operation, "load");
  return out;
}

}  // namespace

Step Transition::operator()(const Loading& s, const event::GaveUp& e) const {
  return give_up(*this, s.engine, s.target, e, false);
}
Step Transition::operator()(const Probing& s, const event::GaveUp& e) const {
  return give_up(*this, s.engine, s.target, e, false);
}
Step Transition::operator()(const Ready& s, const event::GaveUp& e) const {
  return give_up(*this, s.engine, target_for(s.engine.launch.profile, s.strikes), e, true);
}

Step Transition::operator()(const Loading& s, const event::Exited& e) const {
  return lost(*this, s.engine, s.target, e, false);
}
Step Transition::operator()(const Probing& s, const event::Exited& e) const {
  return lost(*this, s.engine, s.target, e, false);
}
Step Transition::operator()(const Ready& s, const event::Exited& e) const {
  return lost(*this, s.engine, target_for(s.engine.launch.profile, s.strikes), e, true);
}

Step Transition::operator()(const Preparing& s, const event::Exited& e) const {
  if (!s.serving || s.serving->launch.attempt != e.attempt) return ignore("another attempt");
  return {Preparing{s.target, std::nullopt}, {effect::Discard{*s.serving}}, {}};
}

Step Transition::operator()(const Draining& s, const event::Exited& e) const {
  if (s.serving.launch.attempt != e.attempt) return ignore("another attempt");
  Step out = (*this)(Stopping{s.target, s.launch, std::nullopt, s.serving}, event::EngineStopped{e.attempt});
  out.effects.insert(out.effects.begin(), effect::Discard{s.serving});
  return out;
}

Step Transition::operator()(const Failed& s, const event::Exited& e) const {
  if (!s.left || s.left->launch.attempt != e.attempt) return ignore("another attempt");
  return {Failed{s.profile, e.failure}, {effect::Discard{*s.left}}, {}};
}

// Stop answers by itself, also for an engine that ended first.
Step Transition::operator()(const Stopping&, const event::Exited&) const { return ignore("it is being stopped"); }

Step Transition::operator()(const Stopped&, const event::Adopted& e) const {
  return adopt(target_for(e.engine.launch.profile, {}), e.engine);
}

// What was asked for failed because Docker was away; what it ran all the while is there again.
Step Transition::operator()(const Failed& s, const event::Adopted& e) const {
  if (s.left) return ignore("an engine is known that could not be stopped");
  return adopt(target_for(e.engine.launch.profile, {}), e.engine);
}

Step Transition::operator()(const Preparing& s, const event::Adopted& e) const {
  if (s.serving) return ignore("an engine serves already");
  return adopt_meanwhile(*this, s.target, e.engine);
}

Step Transition::operator()(const Backoff& s, const event::Adopted& e) const {
  return adopt_meanwhile(*this, s.target, e.engine);
}

// It has the memory that the holder counts on: the holder gives way, a loaded model doesn't.
Step Transition::operator()(const Held& s, const event::Adopted& e) const {
  Step out = s.next.profile.empty() ? adopt(target_for(e.engine.launch.profile, {}), e.engine)
                                    : adopt_meanwhile(*this, s.next, e.engine);
  out.effects.insert(out.effects.begin(), effect::Preempt{s.holder});
  return out;
}

Step Transition::operator()(const Stopped&, const event::Missing& e) const {
  if (e.final) return {Failed{e.profile, e.failure}, {}, {}};
  return settle(target_for(e.profile, {}), e.failure, e.served);
}

}  // namespace k3d::lifecycle
