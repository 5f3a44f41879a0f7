// What is known of quants before a byte is downloaded: size, makeup, what was measured, and whether they may serve.
// Built in as data (config/quants.yaml), overridden by the configuration. Not here: what is proven on this host
// (store).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/base/units.hpp"

namespace k3d {

struct QuantEntry {
  Bytes total_bytes = 0;                       ///< of all shards; 0: unknown
  int shards = 0;                              ///< at `revision`; 0: unknown
  std::string revision;                        ///< of the model's repository; empty: unknown, or made here
  std::map<std::string, int> experts;          ///< how many expert tensors have which of ggml's types; empty: unknown
  std::string blocked;                         ///< why it must not serve; empty: it may
  std::vector<std::string> broken_types;       ///< types whose kernels give wrong answers: no GPU gets files with them
  std::vector<std::string> proven_on;          ///< GPU models, by NVML's name, on which a logits gate passed
  std::map<std::string, double> quality;       ///< figures by names that say their unit
  std::string quality_against;                 ///< the quant that KLD, top-1 and perplexity are measured against
  std::map<std::string, double> speed;         ///< the same, on `measured_on`
  std::string measured_on;                     ///< hardware and placement
  std::map<std::string, std::string> origins;  ///< where the value of a key above comes from

  friend bool operator==(const QuantEntry&, const QuantEntry&) = default;
};

/// By model, then by quant.
using QuantCatalogue = std::map<std::string, std::map<std::string, QuantEntry>>;

}  // namespace k3d
