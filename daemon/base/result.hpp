// Result<T>: a value or an Error. libstdc++ 12's std::expected has no and_then; write the if.
#pragma once

#include <expected>
#include <utility>

#include "daemon/base/error.hpp"

namespace k3d {

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline std::unexpected<Error> fail(Error error) { return std::unexpected<Error>(std::move(error)); }

[[nodiscard]] inline std::unexpected<Error> fail(Code code, std::string message, std::string hint = {},
                                                 std::string cause = {}) {
  return fail(Error{code, std::move(message), std::move(hint), std::move(cause)});
}

}  // namespace k3d
