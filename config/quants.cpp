#include "config/quants.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "config/quants_text.hpp"
#include "config/rules.hpp"

namespace k3d::config {
namespace {

constexpr int kMostShards = 99'999, kMostExpertTensors = 100'000;

constexpr std::array<std::string_view, 7> kQuality{
    "kld_mean", "kld_median", "top1_percent", "perplexity_ratio", "gsm8k_percent", "humaneval_percent", "mbpp_percent"};
constexpr std::array<std::string_view, 4> kSpeed{"decode_tokens_per_second", "throughput_tokens_per_second",
                                                 "first_token_seconds", "load_seconds"};

template <std::size_t N>
std::string one_of(const std::array<std::string_view, N>& names, std::string_view text) {
  if (std::ranges::count(names, text) > 0) return "";
  const std::vector<std::string> known(names.begin(), names.end());
  return "is no figure" + suggestion(text, known);
}

std::string quality_name(std::string_view text) {
  return one_of(kQuality, text);
}
std::string speed_name(std::string_view text) {
  return one_of(kSpeed, text);
}

std::string type_name(std::string_view text) {
  const bool good = !text.empty() && text.size() <= 16 &&
                    text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string_view::npos;
  return good ? "" : "is no type of ggml's, such as IQ2_XXS";
}

std::string origin_of(std::string_view text) {
  std::vector<std::string> keys;
  for (const FieldInfo* field : infos(quant_fields())) keys.push_back(field->key);
  return std::ranges::count(keys, text) > 0 ? "" : "is no key of a quant" + suggestion(text, keys);
}

Shape line() {
  return shape::text("a text of one line", rules::one_line);
}
Shape type() {
  return shape::text("a type of ggml's such as IQ2_XXS", type_name, "^[A-Z0-9_]{1,16}$");
}
template <class T, class Get>
std::map<std::string, T> map_of(const Value& value, Get get) {
  std::map<std::string, T> out;
  for (std::size_t i = 0; i < value.keys.size(); ++i) out[value.keys[i]] = get(value.items[i]);
  return out;
}

std::map<std::string, double> numbers(const Value& value) {
  return map_of<double>(value, [](const Value& v) { return v.number; });
}

}  // namespace

const Fields<QuantEntry>& quant_fields() {
  static const Fields<QuantEntry> kFields{
      {{"total_bytes", shape::bytes(0, Bytes{1} << 60), "0", "Size of all shards; 0: unknown."},
       [](QuantEntry& q, const Value& v) { q.total_bytes = v.bytes; }},
      {{"shards", shape::integer(0, kMostShards), "0", "How many files it has at revision; 0: unknown."},
       [](QuantEntry& q, const Value& v) { q.shards = static_cast<int>(v.integer); }},
      {{"revision", shape::commit(), "null", "The repository's commit that size and shards are of."},
       [](QuantEntry& q, const Value& v) { q.revision = v.text; }},
      {{"experts", shape::map(shape::integer(1, kMostExpertTensors), "types of ggml's", type_name), "{}",
        "How many expert tensors have which type."},
       [](QuantEntry& q, const Value& v) {
         q.experts = map_of<int>(v, [](const Value& n) { return static_cast<int>(n.integer); });
       }},
      {{"blocked", line(), "\"\"", "Why it must not serve; an empty text lets it."},
       [](QuantEntry& q, const Value& v) { q.blocked = v.text; }},
      {{"broken_types", shape::list(type(), 0, 64), "[]",
        "Types of expert tensors whose kernels give wrong answers: no file with them serves on a GPU, whatever its "
        "name."},
       [](QuantEntry& q, const Value& v) { q.broken_types = texts(v); }},
      {{"proven_on", shape::list(line(), 0, 64), "[]",
        "GPU models, as nvidia-smi names them, on which this quant passed a logits gate."},
       [](QuantEntry& q, const Value& v) { q.proven_on = texts(v); }},
      {{"quality", shape::map(shape::number(), "figures", quality_name), "{}",
        "kld_mean, kld_median, top1_percent, perplexity_ratio, gsm8k_percent, humaneval_percent, mbpp_percent."},
       [](QuantEntry& q, const Value& v) { q.quality = numbers(v); }},
      {{"quality_against", shape::text("a name", rules::name), "null", "The quant that these are measured against."},
       [](QuantEntry& q, const Value& v) { q.quality_against = v.text; }},
      {{"speed", shape::map(shape::number(), "figures", speed_name), "{}",
        "decode_tokens_per_second, throughput_tokens_per_second, first_token_seconds, load_seconds."},
       [](QuantEntry& q, const Value& v) { q.speed = numbers(v); }},
      {{"measured_on", line(), "null", "The hardware and the placement of the speeds."},
       [](QuantEntry& q, const Value& v) { q.measured_on = v.text; }},
      {{"origins", shape::map(line(), "keys of this section", origin_of), "{}", "Where a key's value comes from."},
       [](QuantEntry& q, const Value& v) {
         q.origins = map_of<std::string>(v, [](const Value& t) { return t.text; });
       }},
  };
  return kFields;
}

namespace {

void decode_model(const Entry& model, std::map<std::string, QuantEntry>& quants, Reporter& reporter) {
  const auto entries = entries_of(*model.value, model.key_node->place, model.path, reporter);
  if (!entries) return;
  for (const Entry& quant : entries->list) {
    const std::string complaint = rules::name(quant.key);
    if (!complaint.empty()) reporter.add(quant.key_node->place, quant.path, in_quotes(quant.key) + " " + complaint);
    const auto written = entries_of(*quant.value, quant.key_node->place, quant.path, reporter);
    if (written) decode_fields(quant_fields(), *written, quants[quant.key], reporter);
  }
}

QuantCatalogue read_builtin() {
  QuantCatalogue catalogue;
  Reporter reporter;
  if (const auto document = parse_document(kQuantsText, reporter)) {
    decode_quants(*document, document->place, "", {}, catalogue, reporter);
  }
  const std::vector<Mistake> mistakes = reporter.take();
  if (!mistakes.empty()) throw std::logic_error(describe("quants.yaml", mistakes.front()));
  return catalogue;
}

}  // namespace

const QuantCatalogue& builtin_quants() {
  static const QuantCatalogue kCatalogue = read_builtin();
  return kCatalogue;
}

void decode_quants(const Node& node, Place place, const std::string& path, const std::vector<std::string>& models,
                   QuantCatalogue& catalogue, Reporter& reporter) {
  const auto entries = entries_of(node, place, path, reporter);
  if (!entries) return;
  for (const Entry& model : entries->list) {
    if (!models.empty() && std::ranges::count(models, model.key) == 0) {
      reporter.add(model.key_node->place, model.path,
                   "there is no model " + in_quotes(model.key) + suggestion(model.key, models));
      continue;
    }
    decode_model(model, catalogue[model.key], reporter);
  }
}

}  // namespace k3d::config
