// The port Hub for huggingface.co and its mirrors, by libcurl on a thread of its own. Tries again what passes, at one
// pace for everything; gives its token to the hub's own host alone. Not here: what the answers mean (hf_hub_api, _tree,
// _pace).
#pragma once

#include <memory>

#include "daemon/adapters/curl_transfer.hpp"
#include "daemon/ports/hub.hpp"

namespace k3d::adapters {

struct HfHubOptions {
  std::string endpoint;  ///< https://huggingface.co
  Secret token;          ///< empty: asked without
  CurlOptions transfers;
  milliseconds patience{20'000};  ///< without progress, until it gives up
};

/// To be used on one loop, which outlives it.
std::unique_ptr<Hub> hf_hub(HfHubOptions options);

}  // namespace k3d::adapters
