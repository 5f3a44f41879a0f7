#include "config/fields.hpp"

#include <algorithm>

namespace k3d::config {

const Entry* Entries::find(std::string_view key) const {
  const auto found = std::ranges::find(list, key, &Entry::key);
  return found == list.end() || found->value->kind == Node::Kind::null ? nullptr : &*found;
}

Place Entries::place_of(std::string_view key) const {
  const Entry* entry = find(key);
  return entry == nullptr ? place : entry->value->place;
}

std::string Entries::path_of(std::string_view key) const {
  const Entry* entry = find(key);
  return entry == nullptr ? path : entry->path;
}

std::optional<Entries> entries_of(const Node& node, Place place, const std::string& path, Reporter& reporter) {
  Entries entries{place, path, {}};
  if (node.kind == Node::Kind::null) return entries;
  if (node.kind != Node::Kind::map) {
    reporter.add(node.place, path, "this must be a map of keys and values");
    return std::nullopt;
  }
  check_keys(node, path, reporter);
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const Node& key = node.keys[i];
    if (key.text == "<<") continue;  // reported by check_keys
    entries.list.push_back({key.text, &key, &node.items[i], join_path(path, key.text)});
  }
  return entries;
}

void check_known(const Entries& entries, const std::vector<const FieldInfo*>& known, Reporter& reporter) {
  std::vector<std::string> names;
  for (const FieldInfo* field : known) names.push_back(field->key);
  for (const Entry& entry : entries.list) {
    if (std::ranges::count(names, entry.key) > 0) continue;
    reporter.add(entry.key_node->place, entry.path,
                 "there is no key " + in_quotes(entry.key) + " here" + suggestion(entry.key, names));
  }
}

std::optional<Value> read_field(const FieldInfo& field, const Entries& entries, Reporter& reporter) {
  const Entry* entry = entries.find(field.key);
  if (entry == nullptr) {
    if (field.required && entries.whole) {
      reporter.add(entries.place, entries.path,
                   "the key " + in_quotes(field.key) + " is missing; allowed: " + allowed_text(field.shape));
    }
    return std::nullopt;
  }
  std::optional<Value> value = read(field.shape, *entry->value, entry->path, reporter);
  if (value && !field.not_yet.empty() && value->text != field.default_text) {
    reporter.add(entry->value->place, entry->path, "not yet: " + field.not_yet + "; allowed: " + field.default_text);
    return std::nullopt;
  }
  return value;
}

}  // namespace k3d::config
