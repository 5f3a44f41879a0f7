#include "api/k3ctl/table.hpp"

#include <gtest/gtest.h>

namespace k3d::cli {
namespace {

TEST(Table, aligns_by_characters_and_leaves_no_spaces_behind) {
  Table table({{"NAME"}, {"N", true}, {"REMARK"}});
  table.add({"größer", "5", "x"});
  table.add({"a", "1234", ""});
  EXPECT_EQ(table.text(),
            "NAME       N  REMARK\n"
            "größer     5  x\n"
            "a       1234  -\n");
}

TEST(Table, F49_cells_are_made_safe_and_missing_ones_filled) {
  Table table({{"A"}, {"B"}});
  table.add({"\x1b[2J"});
  EXPECT_EQ(table.text(), "A        B\n\\x1b[2J  -\n");
}

}  // namespace
}  // namespace k3d::cli
