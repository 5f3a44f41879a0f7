// The edges of the effects: a store that fails for a while.
#include <gtest/gtest.h>

#include "tests/component/lifecycle/rig.hpp"

namespace k3d::lifecycle {
namespace {

class Edges : public Rig {
 protected:
  void set_ubatch(const std::string& value) {
    const auto set = on_loop([&] { return supervisor_->override_settings({"a", {{"ubatch", value}}, "", "test"}); });
    ASSERT_TRUE(set);
  }
  std::string kept(const std::string& key) { return store_.get(key).value().value_or(""); }
};

// ---- the store ------------------------------------------------------------------------------------------------------

TEST_F(Edges, what_could_not_be_written_is_written_by_itself_once_the_store_can_again_the_newest_of_it) {
  boot();
  store_.fail_with(Error{Code::io_failed, "read-only file system", "", ""});
  set_ubatch("128");
  set_ubatch("256");
  ASSERT_TRUE(until([this] { return has_condition("state_not_persisted"); }));
  store_.fail_with(std::nullopt);
  ASSERT_TRUE(until([this] { return !has_condition("state_not_persisted"); }));
  EXPECT_NE(kept("overrides/a").find("256"), std::string::npos) << kept("overrides/a");
  EXPECT_EQ(await(supervisor_->audit(10, 0))->size(), 2U) << "the history too";
}

TEST_F(Edges, the_condition_stays_until_nothing_is_left_unwritten) {
  boot();
  store_.refuse("overrides/a");
  set_ubatch("128");
  ASSERT_TRUE(until([this] { return has_condition("state_not_persisted"); }));
  serve("a");
  ASSERT_TRUE(until([this] { return store_.desired() == "a"; })) << "what can be written is";
  pass(milliseconds(150));
  EXPECT_TRUE(has_condition("state_not_persisted"));
  EXPECT_EQ(kept("overrides/a"), "");
  store_.refuse("");
  ASSERT_TRUE(until([this] { return !has_condition("state_not_persisted"); }));
  EXPECT_NE(kept("overrides/a").find("128"), std::string::npos);
}

TEST_F(Edges, what_waits_to_be_written_is_tried_once_more_at_the_end) {
  boot();
  pass(milliseconds(100));
  store_.fail_with(Error{Code::disk_full, "no space left", "", ""});
  set_ubatch("128");
  ASSERT_TRUE(until([this] { return has_condition("disk_full"); }));
  store_.fail_with(std::nullopt);
  finish(false);
  EXPECT_NE(kept("overrides/a").find("128"), std::string::npos);
}

}  // namespace
}  // namespace k3d::lifecycle
