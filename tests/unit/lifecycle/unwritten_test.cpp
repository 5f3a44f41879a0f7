// Writes that wait for a store that refuses.
#include "daemon/lifecycle/unwritten.hpp"

#include <gtest/gtest.h>

#include <set>

namespace k3d::lifecycle {
namespace {

class UnwrittenTest : public ::testing::Test {
 protected:
  Write write(const std::string& key, const std::string& value, bool history = false) {
    return {key,
            [this, key, value]() -> Status {
              ++tried_;
              if (refuses_all_ || refused_.contains(key)) return fail(Code::disk_full, "no room for " + key);
              written_.push_back(key + "=" + value);
              return {};
            },
            history};
  }

  Unwritten unwritten_;
  bool refuses_all_ = false;
  std::set<std::string> refused_;
  std::vector<std::string> written_;
  int tried_ = 0;
};

TEST_F(UnwrittenTest, what_was_refused_is_written_later_in_its_order_and_of_a_key_only_the_newest) {
  refuses_all_ = true;
  for (const auto& [key, value] : {std::pair("desired", "a"), std::pair("boot", "1"), std::pair("desired", "b")}) {
    unwritten_.add(write(key, value));
    EXPECT_EQ(unwritten_.write_all()->code, Code::disk_full);
  }
  refuses_all_ = false;
  unwritten_.add(write("failure", "x"));
  EXPECT_FALSE(unwritten_.write_all());
  EXPECT_EQ(written_, (std::vector<std::string>{"boot=1", "desired=b", "failure=x"}));
  EXPECT_EQ(unwritten_.size(), 0U);
}

TEST_F(UnwrittenTest, one_that_is_always_refused_keeps_none_of_the_others_and_the_trouble_goes_on) {
  refused_ = {"damaged"};
  unwritten_.add(write("damaged", "1"));
  unwritten_.add(write("desired", "a"));
  const auto trouble = unwritten_.write_all();
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->message, "no room for damaged");
  EXPECT_EQ(written_, std::vector<std::string>{"desired=a"});
  unwritten_.add(write("desired", "b"));
  EXPECT_TRUE(unwritten_.write_all()) << "one is still unwritten";
  refused_.clear();
  EXPECT_FALSE(unwritten_.write_all());
  EXPECT_EQ(written_.back(), "damaged=1");
}

TEST_F(UnwrittenTest, too_much_history_gives_up_its_oldest_and_never_what_should_be) {
  refuses_all_ = true;
  unwritten_.add(write("desired", "a"));
  for (std::size_t i = 0; i < Unwritten::kMostHistory + 3; ++i) {
    unwritten_.add(write("audit/" + std::to_string(i), "x", true));
  }
  EXPECT_EQ(unwritten_.size(), Unwritten::kMostHistory + 1);
  refuses_all_ = false;
  EXPECT_FALSE(unwritten_.write_all());
  EXPECT_EQ(written_.at(0), "desired=a");
  EXPECT_EQ(written_.at(1), "audit/3=x");
}

TEST_F(UnwrittenTest, a_store_that_takes_long_to_refuse_is_asked_once_and_nothing_is_lost) {
  Unwritten slow{milliseconds(0)};
  refuses_all_ = true;
  for (const char* key : {"a", "b", "c"}) slow.add(write(key, "1"));
  EXPECT_TRUE(slow.write_all());
  EXPECT_EQ(tried_, 1);
  EXPECT_EQ(slow.size(), 3U);
  refuses_all_ = false;
  EXPECT_FALSE(slow.write_all());
  EXPECT_EQ(written_, (std::vector<std::string>{"a=1", "b=1", "c=1"}));
}

}  // namespace
}  // namespace k3d::lifecycle
