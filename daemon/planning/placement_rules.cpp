#include "daemon/planning/placement_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <regex>

namespace k3d::planning {
namespace {

struct Rule {
  std::regex pattern;
  int device = kHost;
};

std::optional<int> device_named(const std::string& name, int devices) {
  if (name == "CPU") return kHost;
  if (!name.starts_with("CUDA")) return std::nullopt;
  int index = 0;
  const char* end = name.data() + name.size();
  const auto [after, error] = std::from_chars(name.data() + 4, end, index);
  if (error != std::errc{} || after != end || index < 0 || index >= devices) return std::nullopt;
  return index;
}

Result<Rule> parse(const std::string& text, int devices) {
  const std::size_t cut = text.rfind('=');
  if (cut == std::string::npos)
    return fail(Code::invalid_request, fmt::format("placement rule `{}` has no =DEVICE", text));
  const auto device = device_named(text.substr(cut + 1), devices);
  if (!device) {
    return fail(Code::invalid_request, fmt::format("placement rule `{}` names no device: CPU, or CUDA0 to CUDA{}", text,
                                                   std::max(devices - 1, 0)));
  }
  try {  // the standard library's only way to tell
    return Rule{std::regex(text.substr(0, cut)), *device};
  } catch (const std::regex_error&) {
    return fail(Code::invalid_request, fmt::format("placement rule `{}` is no regular expression", text));
  }
}

}  // namespace

Result<std::vector<Move>> moves_of_rules(const std::vector<std::string>& texts, const ModelHeaders& headers,
                                         const Architecture& model, int devices) {
  std::vector<Rule> rules;
  for (const std::string& text : texts) {
    auto rule = parse(text, devices);
    if (!rule) return fail(rule.error());
    rules.push_back(std::move(*rule));
  }
  std::vector<Move> moves;
  for (const TensorInfo& tensor : headers.tensors) {
    const int layer = layer_of(tensor.name, model.layers);
    if (layer < 0 || layer > model.layers) continue;  // the input stays where it is
    const auto rule = std::find_if(rules.begin(), rules.end(),
                                   [&](const Rule& r) { return std::regex_search(tensor.name, r.pattern); });
    if (rule == rules.end()) continue;
    moves.push_back({layer, rule->device, tensor.bytes, (part_of(tensor.name) & kExperts) != 0 ? tensor.bytes : 0});
  }
  return moves;
}

}  // namespace k3d::planning
