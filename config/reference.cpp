#include "config/reference.hpp"

#include "config/quants.hpp"
#include "config/tables.hpp"
#include "daemon/base/json.hpp"

namespace k3d::config {
namespace {

constexpr const char* kNamePattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";

Json any_of(std::vector<Json> parts) {
  if (parts.size() == 1) return parts.front();
  Json out = Json::object();
  out["anyOf"] = std::move(parts);
  return out;
}

Json text_schema(const Shape& shape) {
  Json out = Json::object();
  out["type"] = shape.as_written ? Json::array({"string", "number", "boolean"}) : Json("string");
  if (!shape.pattern.empty()) out["pattern"] = shape.pattern;
  return out;
}

Json range_schema(const char* type, const Shape& shape) {
  Json out = Json::object();
  out["type"] = type;
  out["minimum"] = shape.min;
  out["maximum"] = shape.max;
  return out;
}

Json shape_schema(const Shape& shape);

Json bytes_schema(const Shape& shape) {
  Json text = Json::object();
  text["type"] = "string";
  text["pattern"] = "^[0-9]+(\\.[0-9]+)? ?(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)?$";
  return any_of({std::move(text), range_schema("integer", shape)});
}

Json list_schema(const Shape& shape) {
  Json out = Json::object();
  out["type"] = "array";
  out["items"] = shape_schema(shape.inner[0]);
  out["minItems"] = shape.min_items;
  out["maxItems"] = shape.max_items;
  return out;
}

Json map_schema(Json values) {
  Json out = Json::object();
  out["type"] = "object";
  out["additionalProperties"] = std::move(values);
  return out;
}

Json nullable(Json schema) {
  Json null = Json::object();
  null["type"] = "null";
  return any_of({std::move(schema), std::move(null)});
}

/// Without its words.
Json bare_schema(const Shape& shape) {
  switch (shape.kind) {
    case Shape::Kind::text:
      return text_schema(shape);
    case Shape::Kind::integer:
      return range_schema("integer", shape);
    case Shape::Kind::bytes:
      return bytes_schema(shape);
    case Shape::Kind::list:
      return list_schema(shape);
    case Shape::Kind::map:
      return map_schema(nullable(shape_schema(shape.inner[0])));
    case Shape::Kind::either:
      return any_of({shape_schema(shape.inner[0]), shape_schema(shape.inner[1])});
    case Shape::Kind::number:
      return Json{{"type", "number"}, {"minimum", 0}};
    case Shape::Kind::boolean:
      return Json{{"type", "boolean"}};
    case Shape::Kind::choice:
    case Shape::Kind::section:
      break;
  }
  return Json::object();
}

Json shape_schema(const Shape& shape) {
  Json words = Json::object();
  if (!shape.words.empty()) words["enum"] = shape.words;
  if (shape.kind == Shape::Kind::choice) return words;
  if (shape.words.empty()) return bare_schema(shape);
  return any_of({std::move(words), bare_schema(shape)});
}

/// What isn't built yet may only be its default.
Json default_alone(const FieldInfo& field) {
  Json out = Json::object();
  if (field.default_text == "null") return Json{{"type", "null"}};
  const Result<Json> value = parse_json(field.default_text);
  out["const"] = value ? *value : Json(field.default_text);
  return out;
}

Json section_schema(const std::string& key);

Json field_schema(const FieldInfo& field) {
  Json schema = field.shape.kind == Shape::Kind::section ? section_schema(field.key) : shape_schema(field.shape);
  if (!field.not_yet.empty()) schema = default_alone(field);
  Json out = Json::object();
  out["description"] = field.meaning + " Default: " + field.default_text + "." +
                       (field.not_yet.empty() ? "" : " Not yet: " + field.not_yet + ".");
  const bool required = field.required;  // null counts as absent
  const Json typed = required || !field.not_yet.empty() ? schema : nullable(schema);
  for (const auto& [name, value] : typed.items()) out[name] = value;
  if (!field.not_yet.empty() && field.default_text != "null") {
    out = Json::object({{"description", out["description"]}, {"anyOf", nullable(schema)["anyOf"]}});
  }
  return out;
}

Json fields_schema(const std::vector<const FieldInfo*>& fields) {
  Json properties = Json::object();
  for (const FieldInfo* field : fields) properties[field->key] = field_schema(*field);
  Json out = Json::object();
  out["type"] = "object";
  out["properties"] = std::move(properties);
  out["additionalProperties"] = false;
  return out;
}

Json named_schema(Json values) {
  Json out = map_schema(nullable(std::move(values)));
  out["propertyNames"] = Json{{"pattern", kNamePattern}};
  return out;
}

/// One alternative for each mode, which is its `mode` alone.
Json placement_schema() {
  std::vector<Json> modes;
  const auto add = [&modes](PlacementMode mode, const char* name) {
    Json one = fields_schema(infos(placement_fields(mode)));
    const std::string meaning = one["properties"]["mode"]["description"].get<std::string>();
    Json word = mode == PlacementMode::fit ? nullable(Json{{"const", name}}) : Json{{"const", name}};
    one["properties"]["mode"] = Json::object({{"description", meaning}});
    for (const auto& [key, value] : word.items()) one["properties"]["mode"][key] = value;
    Json required = Json::array();
    if (mode != PlacementMode::fit) required.push_back("mode");
    for (const Field<Placement>& field : placement_fields(mode)) {
      if (field.info.required) required.push_back(field.info.key);
    }
    one["required"] = std::move(required);
    modes.push_back(std::move(one));
  };
  add(PlacementMode::fit, "fit");
  add(PlacementMode::n_cpu_moe, "n_cpu_moe");
  add(PlacementMode::override_tensors, "override");
  add(PlacementMode::pinned, "pinned");
  return any_of(std::move(modes));
}

Json section_schema(const std::string& key) {
  if (key == "control") return fields_schema(infos(control_fields()));
  if (key == "proxy") return fields_schema(infos(proxy_fields()));
  if (key == "docker") return fields_schema(infos(docker_fields()));
  if (key == "hub") return fields_schema(infos(hub_fields()));
  if (key == "sources") return named_schema(fields_schema(infos(source_fields())));
  if (key == "models") return named_schema(fields_schema(infos(model_fields())));
  if (key == "quants") return named_schema(named_schema(fields_schema(infos(quant_fields()))));
  if (key == "profiles") return named_schema(fields_schema(infos(profile_fields())));
  if (key == "speculative") return fields_schema(infos(speculative_fields()));
  return placement_schema();
}

/// `text` as code that no table cell breaks.
std::string code(const std::string& text) {
  std::string out = "`";
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out + "`";
}

std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

std::string table(const std::string& title, const std::vector<const FieldInfo*>& fields) {
  std::string out = "\n## " + title + "\n\n| key | allowed | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const FieldInfo* field : fields) {
    const std::string standard = field->required ? "required" : code(field->default_text);
    const std::string later =
        field->not_yet.empty() ? "" : " Not yet: " + field->not_yet + "; only the default is taken.";
    out += "| " + code(field->key) + " | " + cell(allowed_text(field->shape)) + " | " + standard + " | " +
           cell(field->meaning) + later + " |\n";
  }
  return out;
}

}  // namespace

std::string schema_json() {
  Json schema = Json::object();
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "k3d.yaml";
  schema["description"] = "Configuration of k3d. Generated from the field tables of the decoder.";
  for (const auto& [name, value] : fields_schema(infos(root_fields())).items()) schema[name] = value;
  return schema.dump(1) + "\n";
}

std::string reference_markdown() {
  return table("Top level", infos(root_fields())) + table("`control`", infos(control_fields())) +
         table("`proxy`", infos(proxy_fields())) + table("`docker`", infos(docker_fields())) +
         table("`hub`", infos(hub_fields())) + table("`sources.NAME`", infos(source_fields())) +
         table("`models.NAME`", infos(model_fields())) + table("`quants.MODEL.QUANT`", infos(quant_fields())) + table("`profiles.NAME`", infos(profile_fields())) +
         table("`placement`, mode `fit`", infos(placement_fields(PlacementMode::fit))) +
         table("`placement`, mode `n_cpu_moe`", infos(placement_fields(PlacementMode::n_cpu_moe))) +
         table("`placement`, mode `override`", infos(placement_fields(PlacementMode::override_tensors))) +
         table("`placement`, mode `pinned`", infos(placement_fields(PlacementMode::pinned))) +
         table("`speculative`", infos(speculative_fields()));
}

}  // namespace k3d::config
