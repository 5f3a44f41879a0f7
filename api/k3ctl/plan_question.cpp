#include "api/k3ctl/plan_question.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "daemon/base/json.hpp"

namespace k3d::cli {
namespace {

constexpr int kMostGpus = 64;
constexpr const char* kGpus = "write 8x97887MiB, 2x96GiB,1x48GiB, none, or indexes such as 0,3";

std::unexpected<Error> invalid(const std::string& option, const std::string& text, const std::string& how) {
  return fail(Code::invalid_request, option + ": \"" + text + "\" is not valid", how);
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// "8x97887MiB", "96GiB" or "3".
bool add_gpus(const std::string& part, std::vector<AskedGpu>& to) {
  const auto room = kMostGpus - static_cast<int>(to.size());
  if (const auto index = number(part)) {
    if (*index >= kMostGpus || room < 1) return false;
    to.push_back({*index});
    return true;
  }
  const std::size_t times = part.find('x');
  const auto count = times == std::string::npos ? 1 : number(std::string_view(part).substr(0, times));
  const Result<Bytes> size = parse_bytes(times == std::string::npos ? part : part.substr(times + 1));
  if (!count || *count < 1 || *count > room || !size || *size == 0) return false;
  to.insert(to.end(), static_cast<std::size_t>(*count), AskedGpu{std::nullopt, *size, *size});
  return true;
}

Status read_machine(const PlanWords& words, PlanQuestion& question) {
  if (!words.gpus.empty()) {
    Result<std::vector<AskedGpu>> gpus = parse_gpus(words.gpus);
    if (!gpus) return fail(gpus.error());
    question.gpus = std::move(*gpus);
  }
  if (words.ram.empty()) return {};
  const Result<Bytes> ram = parse_bytes(words.ram);
  if (!ram) return invalid("--ram", words.ram, "write a size such as 1TiB");
  question.ram_bytes = *ram;
  return {};
}

Status read_placement(const PlanWords& words, PlanQuestion& question) {
  question.tensor_split = words.tensor_split;
  if (words.n_cpu_moe.empty()) return {};
  const auto layers = number(words.n_cpu_moe);
  if (!layers && words.n_cpu_moe != "auto") return invalid("--n-cpu-moe", words.n_cpu_moe, "write a number of layers, or auto");
  question.placement.emplace();
  question.placement->mode = PlacementMode::n_cpu_moe;
  question.placement->n_cpu_moe = layers;
  return {};
}

void read_settings(const PlanWords& words, PlanQuestion& question) {
  const auto set = [&question](const char* key, const std::optional<int>& value) {
    if (value) question.set[key] = std::to_string(*value);
  };
  set("context", words.context);
  set("slots", words.slots);
  set("batch", words.batch);
  set("ubatch", words.ubatch);
  if (!words.cache_type.empty()) question.set["cache_type"] = words.cache_type;
  const std::vector<int>& margins = words.fit_target_mib;
  if (margins.size() == 1) set("fit_target_mib", margins.front());
  if (margins.size() > 1) question.set["fit_target_mib"] = dump_json(Json(margins));
}

}  // namespace

Result<std::vector<AskedGpu>> parse_gpus(const std::string& text) {
  std::vector<AskedGpu> gpus;
  if (text == "none") return gpus;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    if (!add_gpus(part, gpus)) return invalid("--gpus", text, kGpus);
  }
  if (gpus.empty()) return invalid("--gpus", text, kGpus);
  return gpus;
}

Result<PlanQuestion> question_of(const PlanWords& words) {
  PlanQuestion question;
  question.profile = words.profile;
  question.model = words.model;
  question.quant = words.quant;
  if (!words.path.empty()) question.path = std::filesystem::absolute(words.path).lexically_normal();
  if (Status read = read_machine(words, question); !read) return fail(read.error());
  if (Status read = read_placement(words, question); !read) return fail(read.error());
  read_settings(words, question);
  if (words.draft == "none") question.draft = "";
  if (!words.draft.empty() && words.draft != "none") question.draft = words.draft;
  question.exact = words.exact;
  return question;
}

bool needs_no_daemon(const PlanQuestion& question) {
  const bool by_size = question.gpus && std::ranges::none_of(*question.gpus, [](const AskedGpu& g) { return g.index.has_value(); });
  return by_size && !question.path.empty() && question.profile.empty() && !question.draft && !question.exact;
}

}  // namespace k3d::cli
