#include "tests/unit/planning/memory_golden.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "daemon/planning/placement_rules.hpp"
#include "tests/unit/planning/memory_k3.hpp"
#include "tests/unit/planning/memory_plain.hpp"

namespace k3d::planning::test {
namespace {

std::vector<std::string> cut(const std::string& text, const std::string& separator) {
  std::vector<std::string> pieces;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find(separator, begin)) != std::string::npos; begin = end + separator.size()) {
    pieces.push_back(text.substr(begin, end - begin));
  }
  pieces.push_back(text.substr(begin));
  return pieces;
}

template <class T>
std::vector<T> numbers(const std::string& text, const std::string& separator) {
  std::vector<T> values;
  for (const std::string& piece : cut(text, separator)) {
    if (!piece.empty()) values.push_back(static_cast<T>(std::stod(piece)));
  }
  return values;
}

void set(Arguments& arguments, const std::string& flag, const std::string& value) {
  if (flag == "-c") arguments.context = std::stoi(value);
  if (flag == "-np") arguments.slots = std::stoi(value);
  if (flag == "-b") arguments.batch = std::stoi(value);
  if (flag == "-ub") arguments.ubatch = std::stoi(value);
  if (flag == "-ncmoe") arguments.cpu_moe = std::stoi(value);
  if (flag == "-ngl") arguments.gpu_layers = std::stoi(value);
  if (flag == "-ctk") arguments.cache = value;
  if (flag == "-ts") arguments.split = numbers<double>(value, ",");
  if (flag == "-fitt") arguments.margins_mib = numbers<int>(value, ",");
  if (flag == "--device") arguments.one_device = 0;
  if (flag == "-ot") {
    // The engine's names of its devices, which have numbers of ports: the first is 50101.
    const std::string plain = std::regex_replace(value, std::regex("\""), "");
    for (std::string rule : cut(plain, ",")) {
      std::smatch match;
      if (std::regex_search(rule, match, std::regex(R"(=RPC\d\[127\.0\.0\.1:(\d+)\])"))) {
        rule = rule.substr(0, rule.rfind('=')) + fmt::format("=CUDA{}", std::stoi(match[1]) - 50101);
      }
      arguments.overrides.push_back(rule);
    }
  }
}

/// "DEVICE model context compute;…": the host comes last.
void read_figures(const std::string& text, Case& into) {
  for (const std::string& row : cut(text, ";")) {
    std::istringstream words(row);
    std::string name;
    Figures figures;
    if (!(words >> name >> figures.model >> figures.context >> figures.compute)) continue;
    (name == "Host" ? into.host : into.devices.emplace_back()) = figures;
  }
}

Case read_case(const std::string& line) {
  const std::vector<std::string> fields = cut(line, " | ");
  Case read;
  read.text = line;
  read.quant = fields.at(0);
  if (fields.size() > 3) read.sizes_mib = numbers<double>(fields.at(1), " ");
  read.asked = parse_arguments(fields.at(fields.size() - 2));
  const std::vector<std::string> answer = cut(fields.back(), " => ");
  if (answer.size() > 1) read.chosen = parse_arguments(answer.front());
  read_figures(answer.back(), read);
  if (read.sizes_mib.empty()) read.sizes_mib.assign(read.devices.size(), 143155);
  return read;
}

}  // namespace

Arguments parse_arguments(const std::string& text) {
  Arguments arguments;
  std::istringstream words(text);
  for (std::string flag, value; words >> flag >> value;) set(arguments, flag, value);
  return arguments;
}

std::vector<Case> read_cases(const std::string& file) {
  std::ifstream in(std::string(K3D_SOURCE_DIR) + "/tests/golden/planning/" + file);
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.front() != '#' && line.find(';') != std::string::npos) cases.push_back(read_case(line));
  }
  if (cases.empty()) throw std::runtime_error("no cases in " + file);
  return cases;
}

const ModelHeaders& headers_of(const std::string& quant) {
  static std::map<std::string, ModelHeaders> made;
  auto [at, fresh] = made.try_emplace(quant);
  const bool other = quant == "llama" || quant == "qwen3moe" || quant == "deepseek2" || quant == "kimi-linear";
  if (fresh) at->second = other ? plain(quant) : kimi_k3(quant);
  return at->second;
}

Serving serving_of(const Arguments& arguments) {
  const std::map<std::string, const char*> names{{"f16", "F16"}, {"q8_0", "Q8_0"}, {"q4_0", "Q4_0"}};
  return {arguments.slots,
          arguments.context,
          arguments.batch,
          arguments.ubatch,
          0,
          ggml_type(std::string_view(names.at(arguments.cache)))};
}

MemoryModel model_of(const Case& which, std::optional<KnownCompute> known) {
  const ModelHeaders& headers = headers_of(which.quant);
  const auto architecture = read_architecture(headers);
  if (!architecture) throw std::runtime_error(architecture.error().message);
  return {*architecture, weigh(headers, *architecture), serving_of(which.asked), static_cast<int>(which.devices.size()),
          std::move(known)};
}

Placed placed_by(const Case& which, const Arguments& arguments, const MemoryModel& model) {
  const std::vector<double>& split = arguments.split.empty() ? which.sizes_mib : arguments.split;
  const int layers = model.architecture().layers;
  Placed placed = model.with_cpu_experts(layer_devices(layers, arguments.gpu_layers, split), arguments.cpu_moe);
  if (arguments.overrides.empty()) return placed;
  const auto moves =
      moves_of_rules(arguments.overrides, headers_of(which.quant), model.architecture(), model.devices());
  if (!moves) throw std::runtime_error(moves.error().message);
  placed.moves = *moves;
  placed.overrides = true;
  return placed;
}

KnownCompute compute_of(const Case& which) {
  KnownCompute known;
  for (const Figures& device : which.devices) known.devices.push_back(static_cast<Bytes>(device.compute * kMiB));
  known.host = static_cast<Bytes>(which.host.compute * kMiB);
  return known;
}

}  // namespace k3d::planning::test
