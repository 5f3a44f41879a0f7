// ggml's types against figures of a real model, and the getters of a model's headers.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "daemon/planning/ggml_types.hpp"
#include "daemon/planning/model_headers.hpp"

namespace k3d::planning {
namespace {

constexpr std::array<std::int64_t, 4> kGate{3584, 3072, 896, 1};

Bytes expert_tensor(std::string_view type) {
  return tensor_bytes(ggml_type(type)->id, kGate).value();
}

TEST(GgmlTypes, an_expert_tensor_has_the_published_bytes) {
  EXPECT_EQ(expert_tensor("Q1_0"), 1'387'266'048U);
  EXPECT_EQ(expert_tensor("IQ1_S"), 1'926'758'400U);
  EXPECT_EQ(expert_tensor("TQ1_0"), 2'080'899'072U);
  EXPECT_EQ(expert_tensor("IQ1_M"), 2'157'969'408U);
  EXPECT_EQ(expert_tensor("IQ2_XXS"), 2'543'321'088U);
  EXPECT_EQ(expert_tensor("TQ2_0"), 2'543'321'088U);
  EXPECT_EQ(expert_tensor("IQ2_XS"), 2'851'602'432U);
  EXPECT_EQ(expert_tensor("Q2_K"), 3'236'954'112U);
  EXPECT_EQ(expert_tensor("IQ3_XXS"), 3'776'446'464U);
  EXPECT_EQ(expert_tensor("MXFP4"), 5'240'782'848U);
}

TEST(GgmlTypes, ids_and_names_lead_to_the_same_and_removed_ids_to_nothing) {
  const std::set<std::uint32_t> removed = {4, 5, 31, 32, 33, 36, 37, 38, 43, 44, 0xFFFFFFFF};
  std::set<std::string_view> names;
  for (std::uint32_t id = 0; id < 43; ++id) {
    const GgmlType* type = ggml_type(id);
    ASSERT_EQ(type == nullptr, removed.contains(id)) << id;
    if (type == nullptr) continue;
    EXPECT_EQ(type->id, id);
    EXPECT_EQ(ggml_type(type->name), type);
    EXPECT_TRUE(names.insert(type->name).second) << type->name;
  }
  EXPECT_EQ(names.size(), 35U);
  EXPECT_EQ(ggml_type(43), nullptr);
  EXPECT_EQ(ggml_type(0xFFFFFFFF), nullptr);
  EXPECT_EQ(ggml_type("Q9"), nullptr);
}

TEST(GgmlTypes, impossible_tensors_are_errors) {
  const std::uint32_t f32 = 0, q8 = 8;
  EXPECT_FALSE(tensor_bytes(4, {32, 1, 1, 1}));
  EXPECT_FALSE(tensor_bytes(q8, {33, 1, 1, 1}));
  EXPECT_FALSE(tensor_bytes(f32, {0, 1, 1, 1}));
  EXPECT_FALSE(tensor_bytes(f32, {1, -1, 1, 1}));
  EXPECT_FALSE(tensor_bytes(f32, {std::int64_t{1} << 62, 2, 2, 1}));
  EXPECT_FALSE(tensor_bytes(f32, {std::int64_t{1} << 32, std::int64_t{1} << 32, 1, 1}));
  EXPECT_EQ(tensor_bytes(f32, {std::int64_t{1} << 60, 1, 1, 1}), Bytes{1} << 62);
  EXPECT_EQ(tensor_bytes(4, {1, 1, 1, 1}).error().code, Code::model_corrupt);
}

TEST(ModelHeaders, getters_take_what_is_meant_and_nothing_else) {
  ModelHeaders headers;
  headers.metadata = {
      {"i", std::int64_t{7}},     {"whole", 8.0},  {"half", 0.5},         {"yes", true},
      {"text", std::string("t")}, {"huge", 1e300}, {"nan", std::nan("")}, {"list", std::vector<std::int64_t>{1, 0, 1}}};
  EXPECT_EQ(headers.integer("i"), 7);
  EXPECT_EQ(headers.integer("whole"), 8);
  EXPECT_EQ(headers.integer("yes"), 1);
  for (const char* key : {"half", "text", "huge", "nan", "list", "none"}) EXPECT_FALSE(headers.integer(key)) << key;
  EXPECT_EQ(headers.number("i"), 7.0);
  EXPECT_EQ(headers.number("half"), 0.5);
  EXPECT_FALSE(headers.number("text"));
  EXPECT_EQ(headers.text("text"), "t");
  EXPECT_FALSE(headers.text("i"));
  EXPECT_EQ(headers.integers("list", 3), (std::vector<std::int64_t>{1, 0, 1}));
  EXPECT_EQ(headers.integers("list", 2), (std::vector<std::int64_t>{1, 0}));
  EXPECT_FALSE(headers.integers("list", 4));
  EXPECT_EQ(headers.integers("i", 2), (std::vector<std::int64_t>{7, 7}));
}

}  // namespace
}  // namespace k3d::planning
