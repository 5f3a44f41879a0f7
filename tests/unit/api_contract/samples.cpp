#include "tests/unit/api_contract/samples.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "daemon/base/json.hpp"

namespace k3d::api::samples {

WallTime at(int offset) {
  return *parse_time("2026-11-30T22:37:57.123Z") + seconds(offset);
}

Operation operation() {
  Operation operation;
  operation.id = OperationId("op-7");
  operation.kind = OperationKind::activate;
  operation.state = OperationState::failed;
  operation.profile = "batch";
  operation.reason = "nightly";
  operation.asked_by = "uid 1000";
  operation.progress = {"loading", 0.5, 5, 10, 1.5e9, 12.5};
  operation.steps = {{"preparing", OperationState::succeeded, at(1), at(2)},
                     {"loading", OperationState::failed, at(3), at(4)}};
  operation.created_at = at();
  operation.finished_at = at(5);
  operation.error = OperationError{"model_truncated", "A shard is too short", "shard 3", "pull it again"};
  operation.rolled_back_to = "interactive";
  return operation;
}

Failure failure() {
  Failure failure;
  failure.code = "cuda_out_of_memory";
  failure.title = "The GPU ran out of memory";
  failure.detail = "device 0";
  failure.advice = "fewer slots";
  failure.profile = "batch";
  failure.operation_id = "op-7";
  failure.attempt = 3;
  failure.exit_code = 1;
  failure.retryable = true;
  failure.remedy = Remedy{"a smaller ubatch", {{"cache_type", "q8_0"}, {"ubatch", "2048"}}};
  failure.log_excerpt = {"CUDA error: out of memory"};
  failure.at = at(4);
  return failure;
}

Settings settings() {
  Settings settings;
  settings.sources["fork"] =
      Source{"fork", SourceKind::git, "r", "", "0123456789abcdef0123456789abcdef01234567", true, {}, "auto"};
  Profile batch;
  batch.name = "batch";
  batch.model = "kimi-k3";
  batch.quant = "UD-Q2_K_XL";
  batch.source = "fork";
  batch.aliases = {"big"};
  batch.env = {{"GGML_CUDA_DISABLE_GRAPHS", "1"}};
  batch.placement.mode = PlacementMode::n_cpu_moe;
  batch.placement.n_cpu_moe = 12;
  batch.placement.tensor_split = {60, 34};
  batch.cache_ram = 8 * kGiB;
  Profile other = batch;
  other.name = "interactive";
  settings.profiles = {batch, other};
  return settings;
}

Snapshot snapshot() {
  Snapshot snapshot;
  snapshot.revision = "b00t-42";
  snapshot.version = "0.1.0";
  snapshot.instance = "default";
  snapshot.phase = Phase::ready;
  snapshot.phase_since = at();
  snapshot.active_profile = "batch";
  snapshot.target_profile = "batch";
  EngineView engine;
  engine.container_id = ContainerId("c0ffee");
  engine.container_name = "k3d-default-3";
  engine.attempt = 3;
  engine.image = "k3d-engine-fork:0123456789ab";
  engine.argv = {"--model", "/model/a b.gguf"};
  engine.started_at = at(1);
  engine.ready_at = at(2);
  engine.restarts = 1;
  engine.adopted = true;
  snapshot.engine = engine;
  snapshot.load = {10, 20, 0.5, 3.5};
  snapshot.backoff = BackoffView{1, 2, at(60)};
  snapshot.held_by = "op-8";
  snapshot.overrides = {{"batch", {{"fit_target_mib", "[5632, 10240]"}, {"ubatch", "2048"}}}};
  snapshot.last_failure = failure();
  snapshot.conditions = {{"live_restore_off", Severity::warning, at(), "t", "d", "a"}};
  snapshot.gpus = {{0, "GPU-aaaa", "NVIDIA H200", 150'754'820'096, 128'000'000'000, 87,
                    {{4242, "llama-server", Bytes{120'000'000'000}, "c0ffee", true}, {17, "", {}, "", false}}}};
  snapshot.proxy = {{"127.0.0.1:8000"}, 2, 1, 40, 4.5};
  snapshot.operations = {operation()};
  snapshot.settings = std::make_shared<const Settings>(settings());
  return snapshot;
}

void expect_golden(const std::string& name, const std::string& json) {
  const Result<Json> parsed = parse_json(json);
  ASSERT_TRUE(parsed) << json;
  const std::string text = parsed->dump(2) + "\n";
  const std::string path = std::string(K3D_SOURCE_DIR) + "/tests/unit/api_contract/golden/" + name + ".json";
  if (std::getenv("K3D_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream expected;
  expected << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, expected.str()) << "K3D_UPDATE_GOLDEN=1 rewrites " << path;
}

}  // namespace k3d::api::samples
