// Errors and names of the catalogue as failures of an attempt.
#include "daemon/lifecycle/failure_of.hpp"

#include <gtest/gtest.h>

namespace k3d::lifecycle {
namespace {

TEST(FailureOf, a_name_of_the_catalogue_brings_its_title_and_advice) {
  const Failure failure = named_failure("engine_unreachable", "a", 7, "nobody listens");
  EXPECT_EQ(failure.code, "engine_unreachable");
  EXPECT_FALSE(failure.title.empty());
  EXPECT_FALSE(failure.advice.empty());
  EXPECT_EQ(failure.detail, "nobody listens");
  EXPECT_EQ(failure.profile, "a");
  EXPECT_EQ(failure.attempt, 7U);
}

TEST(FailureOf, a_name_it_does_not_have_stays_a_name) {
  EXPECT_EQ(named_failure("unheard_of", "a", 1, "").code, "unheard_of");
}

TEST(FailureOf, an_error_keeps_its_words_and_takes_the_catalogue_s_name) {
  const Failure failure = failure_of({Code::files_missing, "no weights", "fetch them", "ENOENT"}, "a", 3);
  EXPECT_EQ(failure.code, "model_missing");
  EXPECT_EQ(failure.detail, "no weights: ENOENT");
  EXPECT_EQ(failure.advice, "fetch them");
  EXPECT_FALSE(failure.retryable);
}

}  // namespace
}  // namespace k3d::lifecycle
