// The control API's tokens: from $CREDENTIALS_DIRECTORY/token, else the token file, which is made if it is missing.
#pragma once

#include "daemon/base/result.hpp"
#include "daemon/base/secret.hpp"
#include "daemon/model/settings.hpp"

namespace k3d::app {

struct Tokens {
  Secret full;  ///< everything
  Secret read;  ///< GET only; empty: there is none
};

/// Errors name the file. Every token is kept out of the log from here on.
Result<Tokens> load_tokens(const ControlSettings& control);

}  // namespace k3d::app
