// The audit trail: who did what, when, why.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/base/units.hpp"

namespace k3d {

struct AuditEntry {
  std::uint64_t number = 0;  ///< given by the store, growing
  WallTime at{};
  std::string who;        ///< "uid 1000", "token from ADDRESS", "request from ADDRESS", "k3d"
  std::string action;     ///< activate, deactivate, cancel, set_overrides, clear_overrides, reload, …
  std::string subject;    ///< a profile, an operation; may be empty
  std::string reason;     ///< as given; may be empty
  std::string operation;  ///< the id that it led to; may be empty
  std::string outcome;    ///< "accepted", or the code of the refusal
};

}  // namespace k3d
