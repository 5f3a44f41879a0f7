// profiles, activate, deactivate.
#include "api/contract/launch.hpp"
#include "api/contract/operation.hpp"
#include "api/contract/profile.hpp"
#include "api/contract/requests.hpp"
#include "api/contract/values.hpp"
#include "api/control/control.hpp"
#include "api/http/problem.hpp"
#include "daemon/base/async/sleep.hpp"
#include "daemon/base/json.hpp"

namespace k3d::api {
namespace {

constexpr milliseconds kImageLimit{300};

/// What is missing altogether is told by the operation, as before.
bool is_of_plan(Code code) {
  return code == Code::does_not_fit || code == Code::quant_blocked || code == Code::quant_unproven;
}

/// Docker is asked for a moment only, and not again once it was silent: what it doesn't say is unknown.
Task<ProfileFacts> facts_of(ControlDependencies& deps, const Settings& settings, const Profile& profile,
                            bool docker_answers) {
  ProfileFacts facts;
  facts.outlook = deps.planner->outlook(profile.name);
  if (!docker_answers) co_return facts;
  auto asked = deps.containers.image(image_tag(settings, profile));
  const auto image = co_await with_deadline<ImageInfo>(std::move(asked), kImageLimit, "the image");
  if (image) facts.image_present = true;
  if (!image && (image.error().code == Code::image_missing || image.error().code == Code::not_found)) {
    facts.image_present = false;
  }
  co_return facts;
}

Task<void> list_profiles(ControlDependencies& deps, Exchange& exchange) {
  const SnapshotPtr snapshot = deps.supervisor.snapshot();
  Json items = Json::array();
  bool docker_answers = true;
  for (const Profile& profile : snapshot->settings->profiles) {
    const ProfileFacts facts = co_await facts_of(deps, *snapshot->settings, profile, docker_answers);
    docker_answers = facts.image_present.has_value();
    items.push_back(profile_object(*snapshot, profile, facts));
  }
  co_await exchange.reply(json_response(200, list_json(items, std::nullopt)));
}

/// The operation is written down before its id is told: a daemon that crashes right after still knows it.
Task<void> answer_asked(ControlDependencies& deps, Exchange& exchange, Result<lifecycle::Asked> asked) {
  if (!asked) {
    co_await exchange.reply(problem_response(asked.error()));
    co_return;
  }
  co_await deps.supervisor.recorded();
  Response response = json_response(asked->started ? 202 : 200, operation_json(asked->operation));
  if (asked->started) response.headers.emplace_back("Location", "/api/v1/operations/" + asked->operation.id.value);
  co_await exchange.reply(std::move(response));
}

/// Before anything is begun: what the plan says of a start that isn't under way or done already.
Task<Status> check_plan(ControlDependencies& deps, std::string name, ActivateRequest request, std::string asked_by) {
  const SnapshotPtr snapshot = deps.supervisor.snapshot();
  if (snapshot->settings->find_profile(name) == nullptr) co_return Status{};
  if (snapshot->target_profile == name && !request.restart && snapshot->phase != Phase::failed) co_return Status{};
  const auto plan = co_await deps.supervisor.plan(name, request.accept_risk);
  if (plan || !is_of_plan(plan.error().code)) co_return Status{};
  deps.supervisor.record(std::move(asked_by), "activate", name, request.reason, {}, std::string(to_string(plan.error().code)));
  co_return fail(plan.error());
}

Task<void> dry_run(ControlDependencies& deps, Exchange& exchange, std::string name, bool accept_risk) {
  const auto settings = deps.supervisor.snapshot()->settings;
  if (settings->find_profile(name) == nullptr) {
    co_await exchange.reply(problem_response(unknown_profile(*settings, name)));
    co_return;
  }
  const Result<Launch> launch = co_await deps.supervisor.dry_run(name, accept_risk);
  if (!launch) {
    co_await exchange.reply(problem_response(launch.error()));
    co_return;
  }
  // A key made for this answer would mean nothing, and keys belong into no output.
  LaunchSpec shown = launch->container;
  shown.env.erase("LLAMA_API_KEY");
  const std::uint64_t streams = deps.supervisor.snapshot()->proxy.in_flight;
  co_await exchange.reply(json_response(200, dry_run_json(*launch, deps.docker_run(shown), streams)));
}

Task<void> activate(ControlDependencies& deps, Exchange& exchange) {
  const std::string name = exchange.parameters().at("name");
  const Result<ActivateRequest> request = parse_activate_request(exchange.body());
  if (!request) {
    co_await exchange.reply(problem_response(request.error()));
    co_return;
  }
  if (request->dry_run) {
    co_await dry_run(deps, exchange, name, request->accept_risk);
    co_return;
  }
  co_await deps.supervisor.first_look();
  const Status fits = co_await check_plan(deps, name, *request, asked_by(exchange));
  if (!fits) {
    co_await exchange.reply(problem_response(fits.error()));
    co_return;
  }
  lifecycle::ActivateAsk ask{name, request->force, request->restart, request->preempt, request->reason,
                             asked_by(exchange), request->accept_risk};
  auto asked = deps.supervisor.activate(std::move(ask));
  co_await answer_asked(deps, exchange, std::move(asked));
}

Task<void> deactivate(ControlDependencies& deps, Exchange& exchange) {
  const Result<DeactivateRequest> request = parse_deactivate_request(exchange.body());
  if (!request) {
    co_await exchange.reply(problem_response(request.error()));
    co_return;
  }
  co_await deps.supervisor.first_look();
  lifecycle::DeactivateAsk ask{request->force, request->reason, asked_by(exchange)};
  auto asked = deps.supervisor.deactivate(std::move(ask));
  co_await answer_asked(deps, exchange, std::move(asked));
}

}  // namespace

Task<void> answer_profile(ControlDependencies& deps, Exchange& exchange, std::string name) {
  const SnapshotPtr snapshot = deps.supervisor.snapshot();
  const Profile* profile = snapshot->settings->find_profile(name);
  if (profile == nullptr) {
    co_await exchange.reply(problem_response(unknown_profile(*snapshot->settings, name)));
    co_return;
  }
  const ProfileFacts facts = co_await facts_of(deps, *snapshot->settings, *profile, true);
  co_await exchange.reply(json_response(200, profile_json(*snapshot, *profile, facts)));
}

std::vector<Route> profile_routes(ControlDependencies& deps) {
  return {
      {"GET", "/api/v1/profiles", "list_profiles", Scope::read, [&deps](Exchange& e) { return list_profiles(deps, e); }},
      {"GET", "/api/v1/profiles/{name}", "get_profile", Scope::read,
       [&deps](Exchange& e) { return answer_profile(deps, e, e.parameters().at("name")); }},
      {"POST", "/api/v1/profiles/{name}/activate", "activate_profile", Scope::write,
       [&deps](Exchange& e) { return activate(deps, e); }},
      {"POST", "/api/v1/deactivate", "deactivate", Scope::write, [&deps](Exchange& e) { return deactivate(deps, e); }},
  };
}

}  // namespace k3d::api
