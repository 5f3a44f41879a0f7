// What a failed exchange with Docker means, in k3d's codes. Pure; the words were taken from real Engines.
#pragma once

#include <string>
#include <string_view>

#include "daemon/base/error.hpp"

namespace k3d::docker {

/// What a call is about, so that 404 can be told apart.
enum class Subject { engine, image, container };

/// Why no whole answer came: docker_unavailable or docker_unresponsive, with what to do about it.
/// `cancelled` and `config_invalid` stay what they are.
Error transport_error(const Error& error, std::string_view address);

/// An answer of 400 and above: image_missing, not_found, conflict or docker_refused. `name` is of the image or
/// container; the cause is Docker's own message.
Error refusal(unsigned status, std::string_view body, Subject subject, std::string_view name);

/// Whether Docker was away or didn't answer, so that the same call may work later.
bool is_away(const Error& error);

}  // namespace k3d::docker
