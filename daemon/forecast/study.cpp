#include "daemon/forecast/study.hpp"

#include <algorithm>

#include "daemon/forecast/asked_profile.hpp"
#include "daemon/forecast/proof_of_plan.hpp"
#include "daemon/forecast/roots.hpp"
#include "daemon/hub/model_files.hpp"

namespace k3d::forecast {
namespace {

namespace fs = std::filesystem;

struct Found {
  HeadersPtr headers;
  Bytes present_bytes = 0, mmproj_bytes = 0;
};

Bytes bytes_of(const planning::ModelHeaders& headers) {
  Bytes bytes = 0;
  for (const planning::ShardInfo& shard : headers.shards) bytes += shard.file_bytes;
  return bytes;
}

Result<Found> read_set(HeadersCache& cache, const std::vector<fs::path>& files) {
  const Result<HeadersPtr> headers = cache.read(files);
  if (!headers) return fail(headers.error());
  return Found{*headers, bytes_of(**headers)};
}

bool has_vision(const Settings& settings, const Profile& profile) {
  const auto source = settings.sources.find(profile.source);
  return source != settings.sources.end() && source->second.vision;
}

Result<Found> find_model(HeadersCache& cache, const Study& study) {
  const Settings& settings = *study.settings;
  if (!study.question.path.empty()) {
    const auto files = files_of_set(study.question.path, settings);
    return files ? read_set(cache, *files) : fail(files.error());
  }
  if (study.remote) return Found{study.remote, present_bytes(settings, study.profile.model, study.profile.quant)};
  const Result<hub::ModelFiles> files = hub::find_model_files(settings, study.profile);
  if (!files) return fail(files.error());
  Result<Found> found = read_set(cache, files->shards);
  std::error_code ec;
  if (found && !files->mmproj.empty() && has_vision(settings, study.profile)) {
    const auto size = fs::file_size(files->mmproj, ec);
    if (!ec) found->mmproj_bytes = size;
  }
  return found;
}

/// Nothing where its file isn't here: the planner says so.
std::optional<planning::DraftModel> find_draft(HeadersCache& cache, const Study& study) {
  const auto& speculative = study.profile.speculative;
  if (!speculative || speculative->model.empty()) return std::nullopt;
  Profile draft;
  draft.model = speculative->model;
  const Result<hub::ModelFiles> files = hub::find_model_files(*study.settings, draft);
  if (!files) return std::nullopt;
  const Result<HeadersPtr> headers = cache.read(files->shards);
  if (!headers) return std::nullopt;
  return planning::DraftModel{*headers, speculative->n_max};
}

}  // namespace

Result<PlanAnswer> work_out(HeadersCache& cache, const Study& study) {
  const Result<Found> found = find_model(cache, study);
  if (!found) return fail(found.error());
  planning::PlanInputs inputs;
  inputs.profile = study.profile;
  inputs.model = found->headers;
  inputs.mmproj_bytes = found->mmproj_bytes;
  inputs.draft = find_draft(cache, study);
  inputs.gpus = study.hardware.gpus;
  inputs.ram = study.hardware.ram;
  PlanAnswer answer;
  answer.plan = planning::plan(inputs);
  answer.present_bytes = found->present_bytes;
  const auto judged = planning::judge(*found->headers, study.settings->quants, study.profile.model, study.profile.quant,
                                      study.hardware.models());
  answer.proof = proof_of(judged);
  apply_proof(judged, study.question.profile.empty() ? nullptr : &study.profile, answer.plan);
  answer.settled = settled(study.profile, answer.plan);
  return answer;
}

Bytes present_bytes(const Settings& settings, const std::string& model, const std::string& quant) {
  const auto found = settings.models.find(model);
  if (found == settings.models.end() || quant.empty()) return 0;
  Bytes most = 0;
  for (const fs::path& folder : hub::quant_folders(settings, found->second, quant)) {
    Bytes bytes = 0;
    std::error_code ec;
    for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec)) {
      std::error_code unknown;
      const auto size = at->path().extension() == ".gguf" ? at->file_size(unknown) : 0;
      if (!unknown) bytes += size;
    }
    most = std::max(most, bytes);
  }
  return most;
}

}  // namespace k3d::forecast
