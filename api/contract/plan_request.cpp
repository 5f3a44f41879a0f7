// The question of POST plan: read strictly, and written.
#include <array>
#include <cmath>

#include "api/contract/plan.hpp"
#include "api/contract/values.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

constexpr std::size_t kMostGpus = 64, kMostRules = 64, kLongestRule = 256, kLongestText = 4096;
constexpr int kMostLayers = 1024;
constexpr std::array<std::string_view, 6> kSettings{"context", "slots", "batch", "ubatch", "cache_type", "fit_target_mib"};
constexpr const char* kAllowed =
    "allowed are profile, model, quant, path, gpus, ram_bytes, context, slots, batch, ubatch, cache_type, placement, "
    "tensor_split, fit_target_mib, draft, exact";

std::unexpected<Error> invalid(const std::string& field, const std::string& what, std::string allowed) {
  return fail(Code::invalid_request, "\"" + field.substr(0, 80) + "\" " + what, std::move(allowed));
}

Status read_text(const std::string& field, const Json& value, std::string& to) {
  if (!value.is_string() || value.get_ref<const std::string&>().size() > kLongestText) {
    return invalid(field, "is not a text", "write a text of at most 4096 bytes");
  }
  to = value.get<std::string>();
  // A path or a name that ends at a zero would be another one.
  if (to.find('\0') != std::string::npos) return invalid(field, "has a zero byte", "write it without");
  return {};
}

/// A number of bytes, or a text with a suffix.
Status read_bytes(const std::string& field, const Json& value, Bytes& to) {
  constexpr const char* kHow = "write a number of bytes, or a text such as \"96GiB\"";
  if (value.is_number_unsigned()) {
    to = value.get<Bytes>();
    return to <= Bytes{1} << 62 ? Status() : invalid(field, "is too large", kHow);
  }
  if (!value.is_string()) return invalid(field, "is no size", kHow);
  const Result<Bytes> size = parse_bytes(value.get<std::string>());
  if (!size) return invalid(field, "is no size", kHow);
  to = *size;
  return {};
}

Status read_gpu(const Json& value, AskedGpu& gpu) {
  constexpr const char* kHow = "write {\"index\": N}, or {\"free_bytes\": N, \"total_bytes\": N}";
  if (!value.is_object() || value.empty()) return invalid("gpus", "has an entry that is no GPU", kHow);
  for (const auto& [name, item] : value.items()) {
    if (name == "index") {
      if (!item.is_number_unsigned() || item.get<std::uint64_t>() >= kMostGpus) return invalid("gpus.index", "is no index", kHow);
      gpu.index = item.get<int>();
    } else if (name == "free_bytes" || name == "total_bytes") {
      Status read = read_bytes("gpus." + name, item, name == "free_bytes" ? gpu.free_bytes : gpu.total_bytes);
      if (!read) return read;
    } else {
      return invalid("gpus." + name, "is not known", kHow);
    }
  }
  if (gpu.index && value.size() > 1) return invalid("gpus", "has an entry with both an index and a size", kHow);
  if (!value.contains("free_bytes")) gpu.free_bytes = gpu.total_bytes;
  return {};
}

Status read_gpus(const Json& value, PlanQuestion& to) {
  if (!value.is_array() || value.size() > kMostGpus) return invalid("gpus", "is no list of at most 64 GPUs", "write [] for none");
  to.gpus.emplace();
  for (const Json& item : value) {
    if (Status read = read_gpu(item, to.gpus->emplace_back()); !read) return read;
  }
  return {};
}

Status read_split(const std::string& field, const Json& value, std::vector<double>& to) {
  constexpr const char* kHow = "write a list of shares, one a GPU, such as [60, 34]";
  if (!value.is_array() || value.empty() || value.size() > kMostGpus) return invalid(field, "is no list of shares", kHow);
  double sum = 0;
  for (const Json& share : value) {
    const double number = share.is_number() ? share.get<double>() : -1;
    if (!std::isfinite(number) || number < 0) return invalid(field, "has an entry that is no share", kHow);
    to.push_back(number);
    sum += number;
  }
  return sum > 0 ? Status() : invalid(field, "has only zeros", kHow);
}

Status read_layers(const Json& value, Placement& to) {
  if (value == "auto") return {};
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMostLayers) {
    return invalid("placement.layers", "is no number of layers", "write 0 to 1024, or \"auto\"");
  }
  to.n_cpu_moe = value.get<int>();
  return {};
}

Status read_rules(const Json& value, Placement& to) {
  constexpr const char* kHow = "write a list of at most 64 texts \"REGEX=DEVICE\" of at most 256 bytes";
  if (!value.is_array() || value.empty() || value.size() > kMostRules) return invalid("placement.tensors", "is no list", kHow);
  for (const Json& rule : value) {
    const bool fine = rule.is_string() && rule.get_ref<const std::string&>().size() <= kLongestRule &&
                      rule.get_ref<const std::string&>().find('=') != std::string::npos;
    if (!fine) return invalid("placement.tensors", "has an entry that is no rule", kHow);
    to.tensors.push_back(rule.get<std::string>());
  }
  return {};
}

Result<PlacementMode> read_mode(const Json& value) {
  if (value == "fit") return PlacementMode::fit;
  if (value == "n_cpu_moe") return PlacementMode::n_cpu_moe;
  if (value == "override") return PlacementMode::override_tensors;
  return invalid("placement.mode", "is none of them", "allowed are fit, n_cpu_moe and override");
}

/// A whole number, a text, or for fit_target_mib a list: as the configuration's own words, which are checked later.
Status read_setting(const std::string& field, const Json& value, PlanQuestion& to) {
  const bool number = value.is_number_integer(), text = value.is_string(), list = value.is_array() && field == "fit_target_mib";
  if (!number && !text && !list) return invalid(field, "is neither a whole number nor a text", "write it as in the configuration");
  to.set[field] = text ? value.get<std::string>() : dump_json(value);
  return {};
}

Status read_placement_field(const std::string& name, const Json& value, PlanQuestion& to) {
  Placement& placement = *to.placement;
  const PlacementMode mode = placement.mode;
  if (name == "mode") return {};
  if (name == "fit_target_mib" && mode == PlacementMode::fit) return read_setting(name, value, to);
  if (name == "layers" && mode == PlacementMode::n_cpu_moe) return read_layers(value, placement);
  if (name == "tensors" && mode == PlacementMode::override_tensors) return read_rules(value, placement);
  if (name == "tensor_split" && mode == PlacementMode::n_cpu_moe) {
    return value == "auto" ? Status() : read_split("placement.tensor_split", value, placement.tensor_split);
  }
  return invalid("placement." + name, "is not of this mode",
                 "fit has fit_target_mib, n_cpu_moe has layers and tensor_split, override has tensors");
}

/// As the configuration has it, or its mode alone.
Status read_placement(const Json& value, PlanQuestion& to) {
  const Result<PlacementMode> mode = read_mode(value.is_object() ? json_member(value, "mode") : value);
  if (!mode) return fail(mode.error());
  to.placement.emplace();
  to.placement->mode = *mode;
  if (!value.is_object()) return {};
  for (const auto& [name, item] : value.items()) {
    if (Status read = read_placement_field(name, item, to); !read) return read;
  }
  return {};
}

/// A model's name, or false for none.
Status read_draft(const Json& value, PlanQuestion& to) {
  to.draft.emplace();
  if (value.is_boolean() && !value.get<bool>()) return {};
  Status read = read_text("draft", value, *to.draft);
  if (read && to.draft->empty()) return invalid("draft", "is empty", "name a model, or write false for none");
  return read;
}

Status read_path(const Json& value, PlanQuestion& to) {
  std::string text;
  if (Status read = read_text("path", value, text); !read) return read;
  to.path = text;
  return {};
}

Status read_field(const std::string& name, const Json& value, PlanQuestion& to) {
  if (value.is_null()) return {};
  if (name == "profile") return read_text(name, value, to.profile);
  if (name == "model") return read_text(name, value, to.model);
  if (name == "quant") return read_text(name, value, to.quant);
  if (name == "path") return read_path(value, to);
  if (name == "gpus") return read_gpus(value, to);
  if (name == "ram_bytes") return read_bytes(name, value, to.ram_bytes.emplace());
  if (name == "placement") return read_placement(value, to);
  if (name == "tensor_split") return read_split(name, value, to.tensor_split);
  if (name == "draft") return read_draft(value, to);
  if (name == "exact") {
    if (!value.is_boolean()) return invalid(name, "is not true or false", "write true or false");
    to.exact = value.get<bool>();
    return {};
  }
  for (const std::string_view setting : kSettings) {
    if (name == setting) return read_setting(name, value, to);
  }
  return fail(Code::invalid_request, "there is no field \"" + name.substr(0, 80) + "\" in this request", kAllowed);
}

Json gpu_object(const AskedGpu& gpu) {
  Json out = Json::object();
  if (gpu.index) {
    out["index"] = *gpu.index;
  } else {
    out["free_bytes"] = gpu.free_bytes;
    out["total_bytes"] = gpu.total_bytes;
  }
  return out;
}

Json placement_request(const Placement& placement) {
  Json out = Json::object();
  out["mode"] = placement.mode == PlacementMode::n_cpu_moe          ? "n_cpu_moe"
                : placement.mode == PlacementMode::override_tensors ? "override"
                                                                    : "fit";
  if (placement.mode == PlacementMode::n_cpu_moe) {
    out["layers"] = placement.n_cpu_moe ? Json(*placement.n_cpu_moe) : Json("auto");
    if (!placement.tensor_split.empty()) out["tensor_split"] = placement.tensor_split;
  }
  if (placement.mode == PlacementMode::override_tensors) out["tensors"] = placement.tensors;
  return out;
}

}  // namespace

Result<PlanQuestion> parse_plan_request(std::string_view body) {
  const Result<Json> object = parse_json(body);
  if (!object) return fail(Code::invalid_request, "the body is " + object.error().message, kAllowed);
  if (!object->is_object()) return fail(Code::invalid_request, "the body is not a JSON object", kAllowed);
  PlanQuestion question;
  for (const auto& [name, value] : object->items()) {
    if (Status read = read_field(name, value, question); !read) return fail(read.error());
  }
  return question;
}

std::string plan_request_json(const PlanQuestion& question) {
  Json out = Json::object();
  const auto text = [&out](const char* name, const std::string& value) {
    if (!value.empty()) out[name] = value;
  };
  text("profile", question.profile);
  text("model", question.model);
  text("quant", question.quant);
  text("path", question.path.string());
  if (question.gpus) {
    out["gpus"] = Json::array();
    for (const AskedGpu& gpu : *question.gpus) out["gpus"].push_back(gpu_object(gpu));
  }
  if (question.ram_bytes) out["ram_bytes"] = *question.ram_bytes;
  if (question.placement) out["placement"] = placement_request(*question.placement);
  if (!question.tensor_split.empty()) out["tensor_split"] = question.tensor_split;
  for (const auto& [name, value] : question.set) out[name] = value;
  if (question.draft) out["draft"] = question.draft->empty() ? Json(false) : Json(*question.draft);
  if (question.exact) out["exact"] = true;
  return dump_json(out);
}

}  // namespace k3d::api
