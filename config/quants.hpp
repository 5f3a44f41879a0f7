// The quant catalogue: what is built in (quants.yaml), and what the configuration's `quants:` changes of it.
#pragma once

#include "config/fields.hpp"
#include "daemon/model/quants.hpp"

namespace k3d::config {

const Fields<QuantEntry>& quant_fields();

/// The catalogue of quants.yaml.
const QuantCatalogue& builtin_quants();

/// Decodes a map of models to quants over `catalogue`, key by key. `models`: the names that there are; empty: any.
void decode_quants(const Node& node, Place place, const std::string& path, const std::vector<std::string>& models,
                   QuantCatalogue& catalogue, Reporter& reporter);

}  // namespace k3d::config
