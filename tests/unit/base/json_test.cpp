#include "daemon/base/json.hpp"

#include <gtest/gtest.h>

namespace k3d {
namespace {

TEST(Json, bad_text_is_an_error_not_an_exception) {
  EXPECT_FALSE(parse_json("{"));
  EXPECT_FALSE(parse_json(std::string(100'000, '[')));
  EXPECT_FALSE(parse_json(""));
}

TEST(Json, brackets_in_strings_are_not_depth) {
  EXPECT_TRUE(parse_json("\"" + std::string(1000, '[') + "\\\"[\""));
}

TEST(Json, F49_bytes_that_are_not_utf8_are_replaced) {
  EXPECT_EQ(dump_json(Json(std::string("a\xff z"))), "\"a\xef\xbf\xbd z\"");
}

TEST(Json, members_of_the_wrong_type_are_nothing) {
  const Json value = parse_json(R"({"s": "x", "n": 3, "b": true, "z": null})").value();
  EXPECT_EQ(json_string(value, "s"), "x");
  EXPECT_EQ(json_int(value, "n"), 3);
  EXPECT_EQ(json_bool(value, "b"), true);
  EXPECT_FALSE(json_string(value, "n"));
  EXPECT_FALSE(json_string(value, "z"));
  EXPECT_EQ(json_text(value, "s"), "x");
  for (const char* other : {"n", "z", "absent"}) EXPECT_EQ(json_text(value, other), "") << other;
  EXPECT_TRUE(json_member(Json(3), "x").is_null());
}

}  // namespace
}  // namespace k3d
