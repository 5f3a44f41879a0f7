// The checked-in schema, documentation and example, held to the decoder. K3D_UPDATE_GOLDEN=1 rewrites the first two.
#include "config/reference.hpp"

#include <cstdlib>

#include "config/quants.hpp"
#include "config/tables.hpp"
#include "daemon/base/json.hpp"
#include "decoding.hpp"
#include "settings_text.hpp"

namespace k3d::config {
namespace {

const std::string kRoot = K3D_SOURCE_DIR;

void expect_same(const std::string& path, const std::string& wanted) {
  if (std::getenv("K3D_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << wanted;
  EXPECT_EQ(read_all(path), wanted) << path << " is older than the decoder; see docs/configuration.md";
}

template <class T>
void add_all(std::vector<const FieldInfo*>& out, const Fields<T>& fields) {
  for (const FieldInfo* info : infos(fields)) out.push_back(info);
}

std::vector<const FieldInfo*> every_field() {
  std::vector<const FieldInfo*> out;
  add_all(out, root_fields());
  add_all(out, control_fields());
  add_all(out, proxy_fields());
  add_all(out, docker_fields());
  add_all(out, hub_fields());
  add_all(out, source_fields());
  add_all(out, model_fields());
  add_all(out, quant_fields());
  add_all(out, profile_fields());
  for (const PlacementMode mode : {PlacementMode::fit, PlacementMode::n_cpu_moe, PlacementMode::override_tensors,
                                   PlacementMode::pinned}) {
    add_all(out, placement_fields(mode));
  }
  add_all(out, speculative_fields());
  return out;
}

TEST(Reference, the_schema_is_the_decoders) {
  expect_same(kRoot + "/config/k3d.schema.json", schema_json());
}

TEST(Reference, the_documentation_has_every_key) {
  const std::string path = kRoot + "/docs/configuration.md";
  const std::string page = read_all(path);
  const std::size_t marker = page.find("<!-- What follows");
  ASSERT_NE(marker, std::string::npos);
  const std::size_t tables = page.find('\n', marker) + 1;
  expect_same(path, page.substr(0, tables) + reference_markdown());
}

TEST(Reference, the_schema_closes_every_section) {
  const Result<Json> schema = parse_json(schema_json());
  ASSERT_TRUE(schema);
  EXPECT_EQ((*schema)["additionalProperties"], false);
  EXPECT_EQ((*schema)["properties"].size(), root_fields().size());
  for (const Field<Settings>& field : root_fields()) {
    EXPECT_TRUE((*schema)["properties"].contains(field.info.key)) << field.info.key;
  }
}

TEST(Reference, the_example_decodes_and_has_every_key) {
  const std::string example = read_all(kRoot + "/config/k3d.example.yaml");
  expect_same(kRoot + "/tests/unit/config/golden/example.txt", settings_text(settings_of(example)));
  for (const FieldInfo* field : every_field()) {
    EXPECT_NE(example.find(field->key + ":"), std::string::npos) << field->key << " isn't in the example";
  }
}

/// Writing every default out changes nothing: the documented defaults are the real ones.
TEST(Reference, defaults_are_as_documented) {
  const auto written = [](const auto& fields, const std::string& indent) {
    std::string out;
    for (const auto& field : fields) {
      if (!field.info.required) out += indent + field.info.key + ": " + field.info.default_text + "\n";
    }
    return out;
  };
  std::string root;
  for (const Field<Settings>& field : root_fields()) {
    if (field.info.shape.kind != Shape::Kind::section) root += field.info.key + ": " + field.info.default_text + "\n";
  }
  const std::string daemon = root + "control:\n" + written(control_fields(), "  ") + "proxy:\n" +
                             written(proxy_fields(), "  ") + "docker:\n" + written(docker_fields(), "  ") + "hub:\n" +
                             written(hub_fields(), "  ");
  const std::string serving = "models:\n  m: {path: /m.gguf}\nprofiles:\n  p:\n    model: m\n";
  EXPECT_EQ(settings_text(settings_of(daemon + serving + written(profile_fields(), "    "))),
            settings_text(settings_of(serving)));
}

}  // namespace
}  // namespace k3d::config
