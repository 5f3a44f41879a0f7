// Pure: a plan with the engine's own figures in the place of the computed ones.
#pragma once

#include "daemon/model/measured.hpp"
#include "daemon/model/plan.hpp"

namespace k3d::forecast {

/// The basis becomes `engine`, and what is left follows; the computed figures stay beside them among the warnings. Of an
/// explicit placement, what doesn't fit by the engine's figures breaks the plan. Drafts and projectors aren't in them.
void take_over(const ExactFigures& figures, Plan& plan);

}  // namespace k3d::forecast
