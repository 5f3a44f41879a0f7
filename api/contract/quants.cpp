#include "api/contract/quants.hpp"

#include "api/contract/plan.hpp"
#include "api/contract/values.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

Json quant_object(const QuantView& quant) {
  Json out = Json::object();
  out["model"] = quant.model;
  out["quant"] = text_or_null(quant.quant);
  out["total_bytes"] = bytes_or_null(quant.total_bytes);
  out["present_bytes"] = bytes_or_null(quant.present_bytes);
  out["hashes"] = "unchecked";
  out["verdict"] = quant.verdict ? Json(to_string(*quant.verdict)) : Json(nullptr);
  out["reasons"] = quant.reasons;
  out["proven"] = quant.proof ? Json(to_string(*quant.proof)) : Json(nullptr);
  out["gate"] = nullptr;
  return out;
}

}  // namespace

std::string quants_json(const std::vector<QuantView>& quants) {
  Json items = Json::array();
  for (const QuantView& quant : quants) items.push_back(quant_object(quant));
  return list_json(items, std::nullopt);
}

}  // namespace k3d::api
