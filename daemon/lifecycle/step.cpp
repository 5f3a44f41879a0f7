#include "daemon/lifecycle/step.hpp"

#include <utility>

namespace k3d::lifecycle {
namespace {

using namespace state;  // NOLINT: the states are the vocabulary of this file

OperationError error_of(const Failure& failure) {
  return {failure.code, failure.title, failure.detail, failure.advice};
}

Step ignore(const InstanceState& state, std::string why) { return {state, {}, std::move(why)}; }

void end(Step& out, const OperationId& operation, OperationState how, std::optional<OperationError> error = {},
         std::string rolled_back_to = {}) {
  if (operation.empty()) return;
  out.effects.emplace_back(effect::OperationEnd{operation, how, std::move(error), std::move(rolled_back_to)});
}

void at(Step& out, const OperationId& operation, std::string step) {
  if (!operation.empty()) out.effects.emplace_back(effect::OperationStep{operation, std::move(step)});
}

const OperationError kSuperseded{"superseded", "A newer request took its place", "", ""};
const OperationError kCancelled{"cancelled", "It was cancelled", "", ""};

/// `failure` ended the way to `target`, and nothing runs: back to the earlier profile if there is one, else Failed.
/// The operation ends here: the return is k3d's own doing and is seen in the status.
Step settle_failure(Target target, Failure failure) {
  if (target.fall_back_to.empty()) {
    Step out{Failed{target.profile, failure}, {}, {}};
    end(out, target.operation, OperationState::failed, error_of(failure));
    return out;
  }
  Target back;
  back.profile = target.fall_back_to;
  back.rolled_back_from = target.profile;
  Step out{Preparing{back, std::nullopt}, {}, {}};
  end(out, target.operation, OperationState::failed, error_of(failure), back.profile);
  out.effects.emplace_back(effect::Persist{back.profile});
  out.effects.emplace_back(effect::Prepare{back});
  return out;
}

/// The transitions of one state; `state` is the alternative that holds.
struct Transition {
  const InstanceState& whole;
  const Facts& facts;

  // ---- asked by people --------------------------------------------------------------------------------------------

  Step prepare(Target target, std::optional<Engine> serving, const std::string& from) const {
    if (facts.roll_back && target.fall_back_to.empty() && from != target.profile) target.fall_back_to = from;
    Step out{Preparing{target, std::move(serving)}, {}, {}};
    at(out, target.operation, "prepare");
    out.effects.emplace_back(effect::Prepare{target});
    return out;
  }

  Step operator()(const Stopped&, const event::Activate& e) const { return prepare(e.target, std::nullopt, {}); }
  Step operator()(const Failed& s, const event::Activate& e) const {
    if (!s.left) return prepare(e.target, std::nullopt, {});
    return stop_first(*s.left, e.target);
  }
  Step stop_first(const Engine& engine, const Target& next) const {
    Step out{Stopping{next, std::nullopt, std::nullopt, engine}, {}, {}};
    at(out, next.operation, "stop");
    out.effects.emplace_back(effect::Stop{engine});
    return out;
  }
  Step operator()(const Ready& s, const event::Activate& e) const {
    if (s.engine.launch.profile == e.target.profile && !e.target.restart) {
      Step out{s, {}, {}};
      end(out, e.target.operation, OperationState::succeeded);
      return out;
    }
    return prepare(e.target, s.engine, s.engine.launch.profile);
  }
  /// Asked to go back to what still runs, before anything was touched.
  Step keep_serving(const Engine& engine, const Target& old, const Target& next) const {
    Step out{Ready{engine}, {effect::CancelPrepare{}, effect::Persist{engine.launch.profile}}, {}};
    end(out, old.operation, OperationState::cancelled, kSuperseded);
    end(out, next.operation, OperationState::succeeded);
    return out;
  }
  Step operator()(const Preparing& s, const event::Activate& e) const {
    if (s.serving && s.serving->launch.profile == e.target.profile && !e.target.restart) {
      return keep_serving(*s.serving, s.target, e.target);
    }
    Step out = prepare(e.target, s.serving, s.serving ? s.serving->launch.profile : std::string());
    out.effects.insert(out.effects.begin(), effect::CancelPrepare{});
    end(out, s.target.operation, OperationState::cancelled, kSuperseded);
    return out;
  }
  Step operator()(const Draining& s, const event::Activate& e) const {
    if (s.serving.launch.profile == e.target.profile && !e.target.restart) {
      return keep_serving(s.serving, s.target, e.target);
    }
    // Admission is closed already; the engine goes, the newer target comes after it.
    Step out = stop_first(s.serving, e.target);
    end(out, s.target.operation, OperationState::cancelled, kSuperseded);
    return out;
  }
  Step operator()(const Stopping& s, const event::Activate& e) const {
    Step out{Stopping{e.target, std::nullopt, std::nullopt, s.engine}, {}, {}};
    end(out, s.target.operation, OperationState::cancelled, kSuperseded);
    at(out, e.target.operation, "stop");
    return out;
  }
  Step operator()(const Starting& s, const event::Activate& e) const {
    // The container is being created: wait until it is there, then stop it. Started sees the changed target.
    Step out{Starting{e.target, s.launch}, {}, {}};
    end(out, s.target.operation, OperationState::cancelled, kSuperseded);
    at(out, e.target.operation, "start");
    return out;
  }
  Step operator()(const Loading& s, const event::Activate& e) const { return give_way(s.engine, s.target, e.target); }
  Step operator()(const Probing& s, const event::Activate& e) const { return give_way(s.engine, s.target, e.target); }

  Step give_way(const Engine& engine, const Target& old, Target next) const {
    if (facts.roll_back && next.fall_back_to.empty() && old.fall_back_to != next.profile) {
      next.fall_back_to = old.fall_back_to;
    }
    Step out = stop_first(engine, next);
    end(out, old.operation, OperationState::cancelled, kSuperseded);
    return out;
  }

  static Target nothing(const event::Deactivate& e) {
    Target target;
    target.operation = e.operation;
    target.force = e.force;
    return target;
  }
  Step down_now(const event::Deactivate& e) const {
    Step out{Stopped{}, {}, {}};
    out.effects.emplace_back(effect::Persist{});
    end(out, e.operation, OperationState::succeeded);
    return out;
  }
  Step drain(const Engine& engine, Target target, std::optional<Launch> launch) const {
    Step out{Draining{target, std::move(launch), engine}, {}, {}};
    at(out, target.operation, "drain");
    out.effects.emplace_back(effect::Drain{engine, target.force});
    return out;
  }
  Step operator()(const Stopped&, const event::Deactivate& e) const { return down_now(e); }
  Step operator()(const Failed& s, const event::Deactivate& e) const {
    if (!s.left) return down_now(e);
    Step out = stop_first(*s.left, nothing(e));
    out.effects.emplace_back(effect::Persist{});
    return out;
  }
  Step operator()(const Ready& s, const event::Deactivate& e) const {
    Step out = drain(s.engine, nothing(e), std::nullopt);
    out.effects.emplace_back(effect::Persist{});
    return out;
  }
  Step operator()(const Preparing& s, const event::Deactivate& e) const {
    Step out = s.serving ? drain(*s.serving, nothing(e), std::nullopt) : down_now(e);
    if (s.serving) out.effects.emplace_back(effect::Persist{});
    out.effects.insert(out.effects.begin(), effect::CancelPrepare{});
    end(out, s.target.operation, OperationState::cancelled, kSuperseded);
    return out;
  }
  Step operator()(const Draining& s, const event::Deactivate& e) const {
    Step out{Draining{nothing(e), std::nullopt, s.serving}, {}, {}};
    end(out, s.target.operation, OperationState::cancelled, kSuperseded);
    at(out, e.operation, "drain");
    if (e.force) out.effects.emplace_back(effect::Drain{s.serving, true});
    out.effects.emplace_back(effect::Persist{});
    return out;
  }
  Step operator()(const Stopping& s, const event::Deactivate& e) const {
    Step out{Stopping{nothing(e), std::nullopt, std::nullopt, s.engine}, {}, {}};
    end(out, s.target.operation, OperationState::cancelled, kSuperseded);
    at(out, e.operation, "stop");
    out.effects.emplace_back(effect::Persist{});
    return out;
  }
  Step operator()(const Starting& s, const event::Deactivate& e) const {
    Step out{Starting{nothing(e), s.launch}, {}, {}};
    end(out, s.target.operation, OperationState::cancelled, kSuperseded);
    at(out, e.operation, "stop");
    out.effects.emplace_back(effect::Persist{});
    return out;
  }
  Step stop_for(const Engine& engine, const Target& old, const event::Deactivate& e) const {
    Step out = stop_first(engine, nothing(e));
    end(out, old.operation, OperationState::cancelled, kSuperseded);
    out.effects.emplace_back(effect::Persist{});
    return out;
  }
  Step operator()(const Loading& s, const event::Deactivate& e) const { return stop_for(s.engine, s.target, e); }
  Step operator()(const Probing& s, const event::Deactivate& e) const { return stop_for(s.engine, s.target, e); }

  // Cancelling an activation before the old engine is stopped leaves it serving; after that nothing runs.
  Step cancel(const OperationId& ours, const OperationId& asked, Step out) const {
    if (ours != asked || asked.empty()) return ignore(whole, "the operation is not under way");
    end(out, asked, OperationState::cancelled, kCancelled);
    return out;
  }
  Step operator()(const Preparing& s, const event::Cancel& e) const {
    Step out{s.serving ? InstanceState(Ready{*s.serving}) : InstanceState(Stopped{}), {effect::CancelPrepare{}}, {}};
    if (!s.serving) out.effects.emplace_back(effect::Persist{});
    return cancel(s.target.operation, e.operation, std::move(out));
  }
  Step operator()(const Draining& s, const event::Cancel& e) const {
    Step out{Ready{s.serving}, {}, {}};
    out.effects.emplace_back(effect::Persist{s.serving.launch.profile});
    return cancel(s.target.operation, e.operation, std::move(out));
  }
  Step operator()(const Stopping& s, const event::Cancel& e) const {
    Step out{Stopping{{}, std::nullopt, std::nullopt, s.engine}, {effect::Persist{}}, {}};
    return cancel(s.target.operation, e.operation, std::move(out));
  }
  Step operator()(const Starting& s, const event::Cancel& e) const {
    Step out{Starting{{}, s.launch}, {effect::Persist{}}, {}};
    return cancel(s.target.operation, e.operation, std::move(out));
  }
  Step cancel_engine(const Engine& engine, const Target& target, const event::Cancel& e) const {
    Step out{Stopping{{}, std::nullopt, std::nullopt, engine}, {effect::Persist{}, effect::Stop{engine}}, {}};
    return cancel(target.operation, e.operation, std::move(out));
  }
  Step operator()(const Loading& s, const event::Cancel& e) const { return cancel_engine(s.engine, s.target, e); }
  Step operator()(const Probing& s, const event::Cancel& e) const { return cancel_engine(s.engine, s.target, e); }
  Step operator()(const Stopped&, const event::Cancel&) const { return ignore(whole, "nothing is under way"); }
  Step operator()(const Ready&, const event::Cancel&) const { return ignore(whole, "nothing is under way"); }
  Step operator()(const Failed&, const event::Cancel&) const { return ignore(whole, "nothing is under way"); }

  // ---- preparing --------------------------------------------------------------------------------------------------

  Step operator()(const Preparing& s, const event::Prepared& e) const {
    if (s.target.operation != e.operation || s.target.profile != e.launch.profile) {
      return ignore(whole, "a stale preparation");
    }
    if (s.serving) {
      Step out = drain(*s.serving, s.target, e.launch);
      out.effects.emplace_back(effect::Persist{s.target.profile});
      return out;
    }
    Step out = start(s.target, e.launch);
    out.effects.emplace_back(effect::Persist{s.target.profile});
    return out;
  }
  Step start(const Target& target, const Launch& launch) const {
    Step out{Starting{target, launch}, {}, {}};
    at(out, target.operation, "start");
    out.effects.emplace_back(effect::Start{launch});
    return out;
  }
  Step operator()(const Preparing& s, const event::PrepareFailed& e) const {
    if (s.target.operation != e.operation) return ignore(whole, "a stale preparation");
    if (s.serving) {  // nothing was touched: the old profile never stopped serving
      Step out{Ready{*s.serving}, {}, {}};
      end(out, s.target.operation, OperationState::failed, error_of(e.failure), s.serving->launch.profile);
      return out;
    }
    return settle_failure(s.target, e.failure);
  }

  // ---- draining and stopping --------------------------------------------------------------------------------------

  Step operator()(const Draining& s, const event::Drained& e) const {
    if (s.serving.launch.attempt != e.attempt) return ignore(whole, "another engine's drain");
    Step out{Stopping{s.target, s.launch, std::nullopt, s.serving}, {}, {}};
    at(out, s.target.operation, "stop");
    out.effects.emplace_back(effect::Stop{s.serving});
    return out;
  }
  Step operator()(const Stopping& s, const event::EngineStopped& e) const {
    if (s.engine.launch.attempt != e.attempt) return ignore(whole, "another engine's end");
    if (s.failure) return settle_failure(s.target, *s.failure);
    if (s.launch) return start(s.target, *s.launch);
    if (!s.target.profile.empty()) return prepare(s.target, std::nullopt, s.target.fall_back_to);
    Step out{Stopped{}, {}, {}};
    end(out, s.target.operation, OperationState::succeeded);
    return out;
  }
  Step operator()(const Stopping& s, const event::StopFailed& e) const {
    if (s.engine.launch.attempt != e.attempt) return ignore(whole, "another engine's end");
    Step out{Failed{s.engine.launch.profile, e.failure, s.engine}, {}, {}};
    end(out, s.target.operation, OperationState::failed, error_of(e.failure));
    return out;
  }

  // ---- starting, loading, probing ---------------------------------------------------------------------------------

  Step operator()(const Starting& s, const event::Started& e) const {
    if (s.launch.attempt != e.engine.launch.attempt) return ignore(whole, "another attempt");
    if (s.target.profile != s.launch.profile) {  // superseded or cancelled meanwhile
      Step out{Stopping{s.target, std::nullopt, std::nullopt, e.engine}, {}, {}};
      at(out, s.target.operation, "stop");
      out.effects.emplace_back(effect::Stop{e.engine});
      return out;
    }
    Step out{Loading{s.target, e.engine}, {}, {}};
    at(out, s.target.operation, "load");
    out.effects.emplace_back(effect::Watch{e.engine, true});
    return out;
  }
  Step operator()(const Starting& s, const event::StartFailed& e) const {
    if (s.launch.attempt != e.attempt) return ignore(whole, "another attempt");
    if (s.target.profile.empty()) {
      Step out{Stopped{}, {}, {}};
      end(out, s.target.operation, OperationState::succeeded);
      return out;
    }
    if (s.target.profile != s.launch.profile) return prepare(s.target, std::nullopt, s.target.fall_back_to);
    return settle_failure(s.target, e.failure);
  }
  Step operator()(const Loading& s, const event::HealthOk& e) const {
    if (s.engine.launch.attempt != e.attempt) return ignore(whole, "another attempt");
    Step out{Probing{s.target, s.engine}, {}, {}};
    at(out, s.target.operation, "probe");
    if (s.engine.adopted) return ready(s.target, s.engine, s.engine.started_at);
    out.effects.emplace_back(effect::Probe{s.engine});
    return out;
  }
  Step ready(const Target& target, Engine engine, WallTime when) const {
    engine.ready_at = when;
    Step out{Ready{engine}, {}, {}};
    end(out, target.operation, OperationState::succeeded);
    return out;
  }
  Step operator()(const Probing& s, const event::ProbeOk& e) const {
    if (s.engine.launch.attempt != e.attempt) return ignore(whole, "another attempt");
    return ready(s.target, s.engine, e.at);
  }
  Step give_up(const Engine& engine, const Target& target, const event::GaveUp& e) const {
    if (engine.launch.attempt != e.attempt) return ignore(whole, "another attempt");
    Step out{Stopping{target, std::nullopt, e.failure, engine}, {}, {}};
    at(out, target.operation, "stop");
    out.effects.emplace_back(effect::Stop{engine});
    return out;
  }
  Step operator()(const Loading& s, const event::GaveUp& e) const { return give_up(s.engine, s.target, e); }
  Step operator()(const Probing& s, const event::GaveUp& e) const { return give_up(s.engine, s.target, e); }

  // ---- an engine that ended ---------------------------------------------------------------------------------------

  Step lost(const Engine& engine, const Target& target, const event::Exited& e) const {
    if (engine.launch.attempt != e.attempt) return ignore(whole, "another attempt");
    Step out = settle_failure(target, e.failure);
    out.effects.insert(out.effects.begin(), effect::Discard{engine});
    return out;
  }
  Step operator()(const Loading& s, const event::Exited& e) const { return lost(s.engine, s.target, e); }
  Step operator()(const Probing& s, const event::Exited& e) const { return lost(s.engine, s.target, e); }
  Step operator()(const Ready& s, const event::Exited& e) const {
    Target was;
    was.profile = s.engine.launch.profile;
    return lost(s.engine, was, e);
  }
  Step operator()(const Preparing& s, const event::Exited& e) const {
    if (!s.serving || s.serving->launch.attempt != e.attempt) return ignore(whole, "another attempt");
    Step out{Preparing{s.target, std::nullopt}, {effect::Discard{*s.serving}}, {}};
    return out;
  }
  Step operator()(const Draining& s, const event::Exited& e) const {
    if (s.serving.launch.attempt != e.attempt) return ignore(whole, "another attempt");
    Step out = (*this)(Stopping{s.target, s.launch, std::nullopt, s.serving}, event::EngineStopped{e.attempt});
    out.effects.insert(out.effects.begin(), effect::Discard{s.serving});
    return out;
  }
  Step operator()(const Failed& s, const event::Exited& e) const {
    if (!s.left || s.left->launch.attempt != e.attempt) return ignore(whole, "another attempt");
    return {Failed{s.profile, e.failure}, {effect::Discard{*s.left}}, {}};
  }
  // Stop answers by itself, also for an engine that ended first.
  Step operator()(const Stopping&, const event::Exited&) const { return ignore(whole, "it is being stopped"); }

  // ---- at the daemon's start --------------------------------------------------------------------------------------

  static Step adopt(const event::Adopted& e) {
    Target target;
    target.profile = e.engine.launch.profile;
    return {Loading{target, e.engine}, {effect::Watch{e.engine, true}}, {}};
  }
  Step operator()(const Stopped&, const event::Adopted& e) const { return adopt(e); }
  // What was asked for failed because Docker was away; what it ran all the while is there again.
  Step operator()(const Failed&, const event::Adopted& e) const { return adopt(e); }
  Step operator()(const Preparing& s, const event::Adopted& e) const {
    if (s.serving) return ignore(whole, "an engine serves already");
    if (s.target.profile == e.engine.launch.profile && !s.target.restart) {
      Step out{Loading{s.target, e.engine}, {effect::CancelPrepare{}}, {}};
      at(out, s.target.operation, "load");
      out.effects.emplace_back(effect::Persist{s.target.profile});
      out.effects.emplace_back(effect::Watch{e.engine, true});
      return out;
    }
    // Another profile is wanted: the one that runs makes room first.
    Step out{Stopping{s.target, std::nullopt, std::nullopt, e.engine}, {effect::CancelPrepare{}}, {}};
    at(out, s.target.operation, "stop");
    out.effects.emplace_back(effect::Stop{e.engine});
    return out;
  }

  /// Every other pair: the event speaks of something that is no longer, or not yet, so.
  template <class S, class E>
  Step operator()(const S&, const E&) const {
    return ignore(whole, "it has no meaning in this phase");
  }
};

}  // namespace

Step step(const InstanceState& state, const Event& event, const Facts& facts) {
  return std::visit(Transition{state, facts}, state, event);
}

std::string target_profile(const InstanceState& state) {
  struct {
    std::string operator()(const Stopped&) const { return {}; }
    std::string operator()(const Ready& s) const { return s.engine.launch.profile; }
    std::string operator()(const Failed& s) const { return s.profile; }
    std::string operator()(const Preparing& s) const { return s.target.profile; }
    std::string operator()(const Draining& s) const { return s.target.profile; }
    std::string operator()(const Stopping& s) const { return s.target.profile; }
    std::string operator()(const Starting& s) const { return s.target.profile; }
    std::string operator()(const Loading& s) const { return s.target.profile; }
    std::string operator()(const Probing& s) const { return s.target.profile; }
  } visitor;
  return std::visit(visitor, state);
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
    const Engine* operator()(const Failed& s) const { return s.left ? &*s.left : nullptr; }
    const Engine* operator()(const Starting&) const { return nullptr; }
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
  struct {
    OperationId operator()(const Stopped&) const { return {}; }
    OperationId operator()(const Ready&) const { return {}; }
    OperationId operator()(const Failed&) const { return {}; }
    OperationId operator()(const Preparing& s) const { return s.target.operation; }
    OperationId operator()(const Draining& s) const { return s.target.operation; }
    OperationId operator()(const Stopping& s) const { return s.target.operation; }
    OperationId operator()(const Starting& s) const { return s.target.operation; }
    OperationId operator()(const Loading& s) const { return s.target.operation; }
    OperationId operator()(const Probing& s) const { return s.target.operation; }
  } visitor;
  return std::visit(visitor, state);
}

}  // namespace k3d::lifecycle
