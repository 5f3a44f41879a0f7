#include "api/k3ctl/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <sstream>

namespace k3d::cli {
namespace {

/// Commands of the contract that are not built yet. They are no part of the help, but no typing errors either.
constexpr std::array kNotYet{"init", "pull", "build", "images",
                             "verify", "bench",  "gate",   "reap", "key",  "report"};

constexpr const char* kFooter =
    R"(Finding the daemon: --url, else K3D_URL, else unix:/run/k3d/control.sock. A TCP address needs a token, by
--token-file or K3D_TOKEN.

Examples:
  k3ctl status                     what runs, what it does, and what is wrong
  k3ctl up batch                   switch to the profile "batch" and follow it until it answers
  k3ctl up batch --dry-run         the exact docker run line, and nothing else happens
  k3ctl chat "Say something."      ask the running model
  k3ctl logs -f                    the engine's log as it grows
  k3ctl --json status | jq .phase  for scripts

Exit status: 0 done, 1 refused or failed, 2 usage, 3 the daemon can't be reached.
"k3ctl COMMAND --help" says more about each command.)";

/// Everything CLI11 writes into while it parses.
struct Parsed {
  CommonOptions common;
  ProfilesCommand profiles;
  UpCommand up;
  DownCommand down;
  LogsCommand logs;
  OpsCommand ops;
  CancelCommand cancel;
  ChatCommand chat;
  OverrideCommand override;
  std::vector<std::string> settings;  ///< of override
  HistoryCommand history;
  PlanWords plan;
  bool explain = false;  ///< of plan
  DoctorCommand doctor;
  ReloadCommand reload;
};

CLI::App* command(CLI::App& app, const char* name, const char* about, const char* examples) {
  CLI::App* sub = app.add_subcommand(name, about);
  sub->footer(std::string("Examples:\n") + examples);
  return sub;
}

void add_profile_commands(CLI::App& app, Parsed& to) {
  CLI::App* profiles = command(app, "profiles", "The profiles and their states; with NAME everything about one",
                               "  k3ctl profiles\n  k3ctl profiles batch");
  profiles->add_option("NAME", to.profiles.name, "One profile");

  CLI::App* up = command(app, "up", "Make PROFILE the one that runs, and follow it until it answers",
                         "  k3ctl up batch\n  k3ctl up interactive --force --reason \"demo at 3\"\n"
                         "  k3ctl up batch --dry-run   # prints the docker run line\n"
                         "  id=$(k3ctl up batch --detach)");
  up->add_option("PROFILE", to.up.profile, "The profile's name")->required();
  up->add_flag("--dry-run", to.up.request.dry_run, "Print what would be started and do nothing");
  up->add_flag("--force", to.up.request.force, "Don't wait for answers in flight; they are cut");
  up->add_flag("--restart", to.up.request.restart, "Load again even if it runs");
  up->add_flag("--accept-risk", to.up.request.accept_risk, "Start against the plan's advice");
  up->add_flag("--preempt", to.up.request.preempt, "Stop a gate or bench that holds the GPUs");
  up->add_option("--reason", to.up.request.reason, "For the audit trail");
  up->add_flag("--detach", to.up.detach, "Print the operation's id and don't follow it");

  CLI::App* down = command(app, "down", "Stop what runs, once the answers in flight are out",
                           "  k3ctl down\n  k3ctl down --force   # cuts the answers in flight");
  down->add_flag("--force", to.down.request.force, "Don't wait for answers in flight");
  down->add_option("--reason", to.down.request.reason, "For the audit trail");
  down->add_flag("--detach", to.down.detach, "Print the operation's id and don't follow it");
}

/// Reads KEY=VALUE into the request; error text or empty, as CLI11 wants it.
std::string read_setting(const std::string& word, OverrideCommand& to) {
  const std::size_t equals = word.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == word.size()) {
    return "\"" + word + "\" is no KEY=VALUE, such as ubatch=2048";
  }
  const std::string key = word.substr(0, equals);
  const bool fresh = to.request.set.emplace(key, word.substr(equals + 1)).second;
  return fresh ? "" : key + " is there twice";
}

void add_override_command(CLI::App& app, Parsed& to) {
  CLI::App* sub =
      command(app, "override", "Change settings of PROFILE beside the configuration, from its next start on",
              "  k3ctl override batch ubatch=2048          # the remedy of a failure\n"
              "  k3ctl override batch cache_type=q8_0 slots=4\n"
              "  k3ctl override batch --clear              # as configured again\n"
              "  k3ctl profiles batch                      # shows them\n\n"
              "KEY: context, slots, batch, ubatch, fit_target_mib, cache_type, cache_ram, ctx_checkpoints or\n"
              "threads; VALUE as in the configuration. What is given takes the place of all that was set\n"
              "before.");
  sub->add_option("PROFILE", to.override.profile, "The profile's name")->required();
  CLI::Option* settings = sub->add_option("SETTING", to.settings, "KEY=VALUE, one or more");
  CLI::Option* clear = sub->add_flag("--clear", to.override.clear, "Remove all of them");
  sub->add_option("--reason", to.override.request.reason, "For the audit trail");
  settings->excludes(clear);
  sub->callback([&to] {
    if (to.settings.empty() && !to.override.clear) throw CLI::RequiredError("KEY=VALUE or --clear");
    for (const std::string& word : to.settings) {
      const std::string wrong = read_setting(word, to.override);
      if (!wrong.empty()) throw CLI::ValidationError(wrong);
    }
  });
}

void add_administration_commands(CLI::App& app, Parsed& to) {
  CLI::App* history = command(app, "history", "Who did what, when and why; also what was refused",
                              "  k3ctl history\n  k3ctl history --limit 200\n  k3ctl --json history | jq '.items[0]'");
  history->add_option("--limit", to.history.limit, "How many, newest first")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();

  CLI::App* reload = command(app, "reload", "Have k3d read its configuration again, and say what changed",
                             "  k3d --check && k3ctl reload   # a file with mistakes is not taken up at all\n"
                             "  k3ctl reload --reason \"smaller context\"");
  reload->add_option("--reason", to.reload.reason, "For the audit trail");
}

void add_operation_commands(CLI::App& app, Parsed& to) {
  CLI::App* ops = command(app, "ops", "Operations, newest first; with ID everything about one",
                          "  k3ctl ops\n  k3ctl ops 3f2a9c1e00d4b877");
  ops->add_option("ID", to.ops.id, "One operation");
  ops->add_option("--limit", to.ops.limit, "How many")->check(CLI::Range(1, 1000))->capture_default_str();

  CLI::App* cancel = command(app, "cancel", "Cancel a running operation", "  k3ctl cancel 3f2a9c1e00d4b877");
  cancel->add_option("ID", to.cancel.id, "The operation's id")->required();
}

void add_watching_commands(CLI::App& app, Parsed& to) {
  command(app, "status", "What runs, what it does, and what is wrong", "  k3ctl status\n  k3ctl --json status");

  CLI::App* doctor = command(app, "doctor", "Would k3d run well on its host: what is wrong, why it matters, the fix",
                             "  k3ctl doctor\n  k3ctl doctor --probe   # reads from the disks for some seconds\n"
                             "  k3ctl --json doctor | jq '.checks[] | select(.result == \"fail\")'\n\n"
                             "Exit status 1 if a check fails.");
  doctor->add_flag("--probe", to.doctor.probe, "Measure how fast the weights' disks are read");

  CLI::App* logs = command(app, "logs", "The engine's log",
                           "  k3ctl logs --tail 50\n  k3ctl logs -f\n  k3ctl logs --attempt 3   # an earlier start");
  logs->add_flag("-f,--follow", to.logs.follow, "Go on as it grows, until the engine ends");
  logs->add_option("--attempt", to.logs.attempt, "Which start of an engine; the newest without it")
      ->check(CLI::PositiveNumber);
  logs->add_option("--tail", to.logs.tail, "Only the last lines")->check(CLI::NonNegativeNumber);

  command(app, "events", "What happens, as it happens", "  k3ctl events\n  k3ctl --json events");
}

/// What it runs on, and how it is placed.
void add_plan_options(CLI::App& plan, PlanWords& to) {
  plan.add_option("--gpus", to.gpus, "8x97887MiB, 2x96GiB,1x48GiB, none; or this host's by index: 0,3");
  plan.add_option("--ram", to.ram, "Host RAM, such as 1TiB");
  plan.add_option("--context", to.context, "Tokens, total over the slots")->check(CLI::PositiveNumber);
  plan.add_option("--slots", to.slots, "Requests at the same time")->check(CLI::PositiveNumber);
  plan.add_option("--batch", to.batch, "Tokens handed in at once")->check(CLI::PositiveNumber);
  plan.add_option("--ubatch", to.ubatch, "Tokens computed at once")->check(CLI::PositiveNumber);
  plan.add_option("--cache-type", to.cache_type, "f16, q8_0, ...");
  CLI::Option* layers = plan.add_option("--n-cpu-moe", to.n_cpu_moe, "Layers whose experts stay in host RAM, or auto");
  CLI::Option* split = plan.add_option("--tensor-split", to.tensor_split, "Layers per GPU: 60,34")->delimiter(',');
  plan.add_option("--fit-target", to.fit_target_mib, "MiB that a fit leaves free: one, or one per GPU")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber)
      ->excludes(layers)
      ->excludes(split);
}

void add_plan_commands(CLI::App& app, Parsed& to) {
  CLI::App* plan = command(app, "plan", "Would it run, and how: memory per GPU, placement, capacity, what breaks",
                           "  k3ctl plan batch\n  k3ctl plan batch --context 262144 --slots 4\n"
                           "  k3ctl plan --model kimi-k3 --quant UD-IQ2_XXS\n"
                           "  k3ctl plan --path FILE --gpus 8x97887MiB --ram 1TiB   # without a daemon\n\n"
                           "Sizes given by --gpus count as free. With --path and such sizes nothing is asked of a\n"
                           "daemon: the file's headers say it all. Exit status 1 if it does not fit or must not run.");
  plan->add_option("PROFILE", to.plan.profile, "Whose settings count; the defaults without it");
  plan->add_option("--model", to.plan.model, "A model of the configuration");
  plan->add_option("--quant", to.plan.quant, "One of its quants");
  plan->add_option("--path", to.plan.path, "A GGUF file, any shard of a set");
  plan->add_option("--draft", to.plan.draft, "A draft model of the configuration, or none");
  plan->add_flag("--exact", to.plan.exact, "By the engine's own dry run");
  plan->add_flag("--explain", to.explain, "In words");
  add_plan_options(*plan, to.plan);
  plan->callback([&to] {
    if (to.plan.profile.empty() && to.plan.model.empty() && to.plan.path.empty()) {
      throw CLI::RequiredError("PROFILE, --model or --path");
    }
    const Result<PlanQuestion> question = question_of(to.plan);
    if (!question) throw CLI::ValidationError(question.error().text());
  });
  command(app, "quants", "Every quant: size, whether it is here, fits here, and is proven",
          "  k3ctl quants\n  k3ctl --json quants | jq '.items[] | select(.verdict == \"all_vram\")'");
}

void add_chat_command(CLI::App& app, Parsed& to) {
  CLI::App* chat =
      command(app, "chat", "Ask the running model; the answer comes as it is written",
              "  k3ctl chat \"Say something.\"\n  git diff | k3ctl chat -   # the text from standard input\n"
              "  k3ctl chat --proxy http://gpu1:8000 --key-file ~/.k3d-key \"Hello\"");
  chat->add_option("TEXT", to.chat.text, "What to ask; - reads standard input")->required();
  chat->add_option("--model", to.chat.model, "A profile, model or alias; whatever is active without it");
  chat->add_option("--proxy", to.chat.proxy, "The proxy's address; as the daemon says without it");
  chat->add_option("--max-tokens", to.chat.max_tokens, "Stop after so many")->check(CLI::PositiveNumber);
  chat->add_option("--key-file", to.chat.key_file, "File with the API key; else K3D_API_KEY");
}

Command chosen(const std::string& name, Parsed& from) {
  if (name == "profiles") return std::move(from.profiles);
  if (name == "up") return std::move(from.up);
  if (name == "down") return std::move(from.down);
  if (name == "logs") return from.logs;
  if (name == "ops") return std::move(from.ops);
  if (name == "cancel") return std::move(from.cancel);
  if (name == "events") return EventsCommand{};
  if (name == "chat") return std::move(from.chat);
  if (name == "override") return std::move(from.override);
  if (name == "history") return from.history;
  if (name == "plan") return PlanCommand{question_of(from.plan).value_or(PlanQuestion()), from.explain};
  if (name == "quants") return QuantsCommand{};
  if (name == "doctor") return from.doctor;
  if (name == "reload") return std::move(from.reload);
  return StatusCommand{};
}

/// The command's word, behind the options that may stand before it; empty if there is none.
std::string first_word(const std::vector<std::string>& args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--url" || args[i] == "--token-file") {
      ++i;
    } else if (!args[i].starts_with("-")) {
      return args[i];
    }
  }
  return {};
}

/// What is wrong with the command's word, if anything: CLI11 only says that one is missing.
std::optional<Exit> check_word(const CLI::App& app, const std::string& word) {
  if (word.empty()) return std::nullopt;
  if (std::find(kNotYet.begin(), kNotYet.end(), word) != kNotYet.end()) {
    return Exit{kUsage, "", "k3ctl " + word + ": not yet. This version has no such command.\n"};
  }
  const auto named = [&word](const CLI::App* sub) { return sub->get_name() == word; };
  if (!app.get_subcommands(named).empty()) return std::nullopt;
  return Exit{kUsage, "", "k3ctl: there is no command \"" + word + "\". \"k3ctl --help\" lists them.\n"};
}

Exit exit_of(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out, err;
  const int code = app.exit(error, out, err);
  return {code == 0 ? kDone : kUsage, out.str(), err.str()};
}

}  // namespace

std::variant<Arguments, Exit> parse_arguments(const std::vector<std::string>& args) {
  Parsed parsed;
  CLI::App app("k3ctl: a person's face on k3d, which serves very large models", "k3ctl");
  app.set_version_flag("--version", std::string("k3ctl ") + K3D_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(kFooter);
  app.add_option("--url", parsed.common.url, "The daemon: unix:/path or http://host:port");
  app.add_option("--token-file", parsed.common.token_file, "File with the bearer token of a TCP address");
  app.add_flag("--json", parsed.common.json, "The daemon's raw answer");
  add_watching_commands(app, parsed);
  add_profile_commands(app, parsed);
  add_override_command(app, parsed);
  add_operation_commands(app, parsed);
  add_plan_commands(app, parsed);
  add_chat_command(app, parsed);
  add_administration_commands(app, parsed);
  if (args.empty()) return Exit{kUsage, "", app.help()};
  if (std::optional<Exit> wrong = check_word(app, first_word(args))) return std::move(*wrong);
  try {
    std::vector<std::string> reversed(args.rbegin(), args.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return exit_of(app, error);
  }
  const std::string name = app.get_subcommands().front()->get_name();
  return Arguments{parsed.common, chosen(name, parsed)};
}

}  // namespace k3d::cli
