// llama-server's HTTP interface, as far as the lifecycle needs it: is it up, does it answer. Requests of clients go
// through api/proxy.
#pragma once

#include <memory>

#include "daemon/ports/engine_client.hpp"

namespace k3d::adapters {

std::unique_ptr<EngineClient> llama_http();

}  // namespace k3d::adapters
