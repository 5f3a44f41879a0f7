// The whole of it: text to tree, sections by their tables, then the rules between them.
#include "config/builtin.hpp"
#include "config/config.hpp"
#include "config/profiles.hpp"
#include "config/quants.hpp"
#include "config/rules.hpp"
#include "config/tables.hpp"
#include "config/validate.hpp"

namespace k3d::config {
namespace {

/// Decodes the section `key` of the file into `target`; its entries, for the rules that come later.
template <class T>
Entries decode_section(const Entries& root, const std::string& key, const Fields<T>& fields, T& target,
                       Reporter& reporter) {
  Entries entries{root.place, key, {}};
  const Entry* entry = root.find(key);
  if (entry == nullptr) return entries;
  if (auto found = entries_of(*entry->value, entry->key_node->place, key, reporter)) {
    entries = std::move(*found);
    decode_fields(fields, entries, target, reporter);
  }
  return entries;
}

template <class T>
using ValidateOne = void (*)(const T&, const Entries&, Reporter&);

/// Decodes a map of names over what is built in.
template <class T>
void decode_named(const Entries& root, const std::string& key, const Fields<T>& fields, ValidateOne<T> validate,
                  std::map<std::string, T>& named, Reporter& reporter) {
  const Entry* section = root.find(key);
  if (section == nullptr) return;
  const auto all = entries_of(*section->value, section->key_node->place, key, reporter);
  if (!all) return;
  for (const Entry& entry : all->list) {
    const std::string complaint = rules::name(entry.key);
    if (!complaint.empty()) reporter.add(entry.key_node->place, entry.path, in_quotes(entry.key) + " " + complaint);
    T& target = named[entry.key];
    target.name = entry.key;
    const auto written = entries_of(*entry.value, entry.key_node->place, entry.path, reporter);
    if (!written) continue;
    decode_fields(fields, *written, target, reporter);
    validate(target, *written, reporter);
  }
}

void decode_known_quants(const Entries& root, Settings& settings, Reporter& reporter) {
  const Entry* section = root.find("quants");
  if (section == nullptr) return;
  std::vector<std::string> models;
  for (const auto& [name, _] : settings.models) models.push_back(name);
  decode_quants(*section->value, section->key_node->place, "quants", models, settings.quants, reporter);
}

void decode_profiles(const Entries& root, Settings& settings, Reporter& reporter) {
  const Entry* section = root.find("profiles");
  if (section == nullptr) return;
  const std::vector<ProfileText> texts = resolve_profiles(*section->value, section->key_node->place, reporter);
  for (const ProfileText& text : texts) settings.profiles.push_back(decode_profile(text, reporter));
  validate_profiles(settings, texts, reporter);
}

void decode_root(const Node& document, Settings& settings, Reporter& reporter) {
  const std::optional<Entries> root = entries_of(document, Place{}, "", reporter);
  if (!root) return;
  decode_fields(root_fields(), *root, settings, reporter);
  const Entries control = decode_section(*root, "control", control_fields(), settings.control, reporter);
  const Entries proxy = decode_section(*root, "proxy", proxy_fields(), settings.proxy, reporter);
  const Entries docker = decode_section(*root, "docker", docker_fields(), settings.docker, reporter);
  decode_section(*root, "hub", hub_fields(), settings.hub, reporter);
  validate_listeners(settings, control, proxy, reporter);
  validate_docker(settings.docker, docker, reporter);
  decode_named<Source>(*root, "sources", source_fields(), validate_source, settings.sources, reporter);
  decode_named<Model>(*root, "models", model_fields(), validate_model, settings.models, reporter);
  decode_known_quants(*root, settings, reporter);
  decode_profiles(*root, settings, reporter);
  validate_boot(settings, *root, reporter);
}

}  // namespace

Decoded decode(std::string_view yaml, const std::filesystem::path& file) {
  Decoded decoded;
  Settings& settings = decoded.settings;
  settings.file = file;
  settings.control.token_file = "/etc/k3d/token";
  settings.sources = builtin_sources();
  settings.models = builtin_models();
  settings.quants = builtin_quants();
  Reporter reporter;
  if (const std::optional<Node> document = parse_document(yaml, reporter)) decode_root(*document, settings, reporter);
  decoded.mistakes = reporter.take();
  return decoded;
}

}  // namespace k3d::config
