#include "daemon/model/instance.hpp"

namespace k3d {

Phase phase_of(const InstanceState& state) {
  struct {
    Phase operator()(const state::Stopped&) const { return Phase::stopped; }
    Phase operator()(const state::Preparing&) const { return Phase::preparing; }
    Phase operator()(const state::Draining&) const { return Phase::draining; }
    Phase operator()(const state::Stopping&) const { return Phase::stopping; }
    Phase operator()(const state::Clearing&) const { return Phase::starting; }
    Phase operator()(const state::Starting&) const { return Phase::starting; }
    Phase operator()(const state::Loading&) const { return Phase::loading; }
    Phase operator()(const state::Probing&) const { return Phase::probing; }
    Phase operator()(const state::Ready&) const { return Phase::ready; }
    Phase operator()(const state::Backoff&) const { return Phase::backoff; }
    Phase operator()(const state::Held&) const { return Phase::stopped; }
    Phase operator()(const state::Failed&) const { return Phase::failed; }
  } visitor;
  return std::visit(visitor, state);
}

}  // namespace k3d
