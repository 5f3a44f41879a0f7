// Pure: what planning's judgement of a quant's kernels means for a plan.
#pragma once

#include "daemon/planning/proof.hpp"
#include "daemon/ports/planner.hpp"

namespace k3d::forecast {

Proof proof_of(const planning::Proof& judged);

/// `profile` is what would serve; null: nothing is asked to serve. A quant that must not serve is blocked, whatever fits;
/// one that is unproven on these GPUs breaks where the profile doesn't allow it, and is told of otherwise.
void apply_proof(const planning::Proof& judged, const Profile* profile, Plan& plan);

/// What a catalogue entry alone tells, without the files: nothing if it doesn't know the types.
planning::ModelHeaders headers_of(const QuantEntry& entry);

}  // namespace k3d::forecast
