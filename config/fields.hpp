// Field tables: one row for each key of a section, and the one loop that decodes by them.
// Not here: the tables themselves (fields_*.cpp) and rules that look at more than one key (validate_*.cpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/shape.hpp"

namespace k3d::config {

/// What people, the schema and the decoder know of a key.
struct FieldInfo {
  std::string key;
  Shape shape;
  std::string default_text;  ///< as it would be written in YAML
  std::string meaning;
  bool required = false;
  std::string not_yet = {};  ///< if set, only the default is taken yet; says what isn't built
};

template <class T>
struct Field {
  FieldInfo info;
  void (*apply)(T& target, const Value& value) = nullptr;  ///< none: decoded by hand, like sections
};

template <class T>
using Fields = std::vector<Field<T>>;

/// A key with its value, and where it was written: in the section itself or in a profile it extends.
struct Entry {
  std::string key;
  const Node* key_node = nullptr;
  const Node* value = nullptr;
  std::string path;
};

/// The entries of one section.
struct Entries {
  Place place;  ///< of the section's name
  std::string path;
  std::vector<Entry> list;
  bool whole = true;  ///< false: something that it extends is missing, so nothing can be said of absent keys

  /// The entry of that key, or none if there is none or it is null.
  [[nodiscard]] const Entry* find(std::string_view key) const;
  /// Where to point for `key`: its value, or the section if there is none.
  [[nodiscard]] Place place_of(std::string_view key) const;
  [[nodiscard]] std::string path_of(std::string_view key) const;
};

/// The entries of a map, its keys checked; nothing (and a mistake) if it is no map. Null is an empty map.
std::optional<Entries> entries_of(const Node& node, Place place, const std::string& path, Reporter& reporter);

/// Reports keys that `known` doesn't have.
void check_known(const Entries& entries, const std::vector<const FieldInfo*>& known, Reporter& reporter);

/// The value of a field, or nothing if it is absent, null, wrong or not yet built; reports the latter two and what
/// is required and absent.
std::optional<Value> read_field(const FieldInfo& field, const Entries& entries, Reporter& reporter);

template <class T>
std::vector<const FieldInfo*> infos(const Fields<T>& fields) {
  std::vector<const FieldInfo*> out;
  for (const Field<T>& field : fields) out.push_back(&field.info);
  return out;
}

template <class T>
void decode_fields(const Fields<T>& fields, const Entries& entries, T& target, Reporter& reporter) {
  check_known(entries, infos(fields), reporter);
  for (const Field<T>& field : fields) {
    const std::optional<Value> value = read_field(field.info, entries, reporter);
    if (value && field.apply != nullptr) field.apply(target, *value);
  }
}

}  // namespace k3d::config
