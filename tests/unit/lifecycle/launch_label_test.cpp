#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "daemon/lifecycle/attempt_folder.hpp"
#include "daemon/lifecycle/launch_plan.hpp"

namespace k3d::lifecycle {
namespace {

Launch sample(const std::filesystem::path& folder) {
  Launch launch;
  launch.profile = "batch";
  launch.attempt = 7;
  launch.folder = folder;
  launch.log = folder / "engine.log";
  launch.address.port = 4711;
  launch.address.api_key = "canary-secret";
  launch.argv = {"--model", "/models/a b.gguf"};
  launch.weight_bytes = 123;
  launch.spec_hash = "abc";
  Plan plan;
  plan.placement.cpu_expert_layers = 5;
  launch.plan = std::make_shared<const Plan>(plan);
  launch.measured_key = "measured/1";
  launch.pinned_key = "pinned/1";
  return launch;
}

std::map<std::string, std::string> labels_of(const Launch& launch) {
  return {{"k3d.profile", launch.profile}, {"k3d.attempt", std::to_string(launch.attempt)},
          {"k3d.spec", launch.spec_hash}, {"k3d.launch", launch_label(launch)}};
}

TEST(LaunchLabel, F96_holds_all_that_is_needed_to_adopt_but_no_secret) {
  const auto folder = std::filesystem::temp_directory_path() / ("k3d-label-" + std::to_string(::getpid())) / "7";
  ASSERT_TRUE(prepare_folder(folder, "canary-secret"));
  const Launch launch = sample(folder);
  EXPECT_EQ(launch_label(launch).find("canary"), std::string::npos);
  const Launch back = launch_from_labels(labels_of(launch)).value();
  EXPECT_EQ(back.profile, "batch");
  EXPECT_EQ(back.attempt, 7U);
  EXPECT_EQ(back.argv, launch.argv);
  EXPECT_EQ(back.address.port, 4711);
  ASSERT_NE(back.plan, nullptr);
  EXPECT_EQ(back.plan->placement.cpu_expert_layers, 5);
  EXPECT_EQ(back.measured_key, "measured/1");
  EXPECT_EQ(back.pinned_key, "pinned/1");
  EXPECT_EQ(back.address.api_key, "canary-secret") << "from the attempt's folder";
  std::filesystem::remove_all(folder.parent_path());
}

TEST(LaunchLabel, labels_that_a_person_wrote_are_refused_not_trusted) {
  EXPECT_FALSE(launch_from_labels({}));
  auto labels = labels_of(sample("/x"));
  labels["k3d.profile"] = "../../etc";
  EXPECT_FALSE(launch_from_labels(labels));
  labels = labels_of(sample("/x"));
  labels["k3d.launch"] = "{";
  EXPECT_FALSE(launch_from_labels(labels));
}

TEST(SpecHash, changes_with_the_configuration_the_image_and_the_files_only) {
  Profile profile;
  profile.name = "batch";
  profile.model = "demo";
  const std::string base = LaunchPlanner::spec_hash(profile, "sha256:1", "files");
  EXPECT_EQ(LaunchPlanner::spec_hash(profile, "sha256:1", "files"), base);
  EXPECT_NE(LaunchPlanner::spec_hash(profile, "sha256:2", "files"), base);
  EXPECT_NE(LaunchPlanner::spec_hash(profile, "sha256:1", "other"), base);
  profile.drain = seconds(1);
  EXPECT_EQ(LaunchPlanner::spec_hash(profile, "sha256:1", "files"), base) << "does not change what runs";
  profile.slots = 3;
  EXPECT_NE(LaunchPlanner::spec_hash(profile, "sha256:1", "files"), base);
}

}  // namespace
}  // namespace k3d::lifecycle
