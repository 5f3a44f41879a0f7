// What becomes of a request under a snapshot: it goes on, is answered, or asks for its profile first. Pure.
// Not here: the waiting itself (door).
#pragma once

#include <optional>
#include <string>

#include "api/proxy/answers.hpp"
#include "daemon/base/error.hpp"
#include "daemon/model/snapshot.hpp"

namespace k3d::proxy {

/// The profile that a request needs first.
struct Wait {
  std::string profile;
  bool switch_over = false;  ///< on_request: switch
  seconds hold{0};           ///< how long the request may wait; zero: it is asked for, and the answer is given at once
};

/// Neither of the two: the request goes on under the snapshot's route.
struct Verdict {
  std::optional<Answer> answer;
  std::optional<Wait> wait;
};

/// `model` is the request's, if it names one. What the active profile answers to is its own, else what the one on its
/// way does, else the first of the file's that does; a name that no profile has means whatever runs.
Verdict judge(const Snapshot& snapshot, const std::optional<std::string>& model);

/// Before the request's body, so without its name: the verdict if every name would have the same, else it goes on to be
/// read. Where a wait's end is all that the name decides about, it is a wait.
Verdict judge_unseen(const Snapshot& snapshot);

/// The answer after a wait that ran out.
Answer still_loading(const Snapshot& snapshot);

/// The answer when the lifecycle refused `wait` with `error` and the snapshot says nothing else.
Answer refused(const Snapshot& snapshot, const Wait& wait, const Error& error);

}  // namespace k3d::proxy
