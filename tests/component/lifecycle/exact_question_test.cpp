// A question to the engine's own dry run takes part in the exclusion, and ends whatever happens to it.
#include <gtest/gtest.h>

#include "tests/component/lifecycle/rig.hpp"

namespace k3d::lifecycle {
namespace {

class ExactQuestion : public Rig {
 protected:
  Task<Result<ExactFigures>> question() { return supervisor_->exact_figures(profile("a"), std::make_shared<const Plan>()); }
  void begin() {
    asio::co_spawn(loop_, question(), [this](const std::exception_ptr& thrown, Result<ExactFigures> answer) {
      EXPECT_FALSE(thrown);
      answer_ = std::move(answer);
    });
  }

  std::optional<Result<ExactFigures>> answer_;
};

TEST_F(ExactQuestion, an_image_without_the_program_is_said_and_the_gpus_are_given_back) {
  boot();
  ASSERT_TRUE(until([this] { return supervisor_->restored(); }));
  EXPECT_EQ(await(question()).error().code, Code::image_missing);
  EXPECT_TRUE(until([this] { return now()->held_by.empty(); }));
  EXPECT_TRUE(containers_.names().empty());
  serve("a");
  EXPECT_EQ(await(question()).error().code, Code::conflict) << "an engine has the devices";
}

TEST_F(ExactQuestion, gives_way_to_an_activation_that_insists_and_leaves_no_container) {
  boot();
  ASSERT_TRUE(until([this] { return supervisor_->restored(); }));
  serve("a");  // so that what the image can do is known
  ASSERT_TRUE(until_ended(deactivate()));
  containers_.hanging = {"has_file"};
  begin();
  ASSERT_TRUE(until([this] { return !containers_.names().empty(); }));
  EXPECT_FALSE(now()->held_by.empty());
  EXPECT_EQ(await(question()).error().code, Code::gpus_held) << "one at a time";
  EXPECT_EQ(on_loop([this] { return supervisor_->activate({"a", false, false, false, "", "test"}); }).error().code,
            Code::gpus_held);
  const auto asked = on_loop([this] { return supervisor_->activate({"a", false, false, true, "", "test"}); });
  ASSERT_TRUE(asked);
  ASSERT_TRUE(until_ended(asked->operation.id));
  EXPECT_EQ(operation(asked->operation.id).state, OperationState::succeeded);
  ASSERT_TRUE(answer_);
  EXPECT_EQ(answer_->error().code, Code::cancelled);
  EXPECT_EQ(containers_.names().size(), 1U);
}

TEST_F(ExactQuestion, the_end_of_k3d_ends_it) {
  boot();
  serve("a");
  ASSERT_TRUE(until_ended(deactivate()));
  containers_.hanging = {"has_file"};
  begin();
  ASSERT_TRUE(until([this] { return !containers_.names().empty(); }));
  finish(false);
  EXPECT_TRUE(containers_.names().empty());
  EXPECT_TRUE(until([this] { return answer_.has_value(); }));
}

}  // namespace
}  // namespace k3d::lifecycle
