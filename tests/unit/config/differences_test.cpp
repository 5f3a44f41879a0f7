// What a reload finds changed.
#include "config/differences.hpp"

#include <set>

#include "config/tables.hpp"
#include "decoding.hpp"

namespace k3d::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kBase =
    "models:\n"
    "  m: {path: /m.gguf}\n"
    "profiles:\n"
    "  a: {model: m, aliases: [x, y]}\n"
    "  b: {model: m, slots: 2}\n";

std::vector<std::string> changed(const std::string& before, const std::string& after) {
  return differences(settings_of(before), settings_of(after));
}

/// Each line beside kBase, and the name it must have.
const std::vector<std::pair<std::string, std::string>> kLines{
    {"instance: two", "instance"},
    {"boot: a", "boot"},
    {"on_exit: stop", "on_exit"},
    {"exit_drain_seconds: 31", "exit_drain_seconds"},
    {"state: /srv/k3d", "state"},
    {"control: {listen: [\"127.0.0.1:7301\"]}", "control.listen"},
    {"control: {group: k3d}", "control.group"},
    {"control: {token_file: /t}", "control.token_file"},
    {"control: {read_token_file: /t}", "control.read_token_file"},
    {"control: {allowed_hosts: [gpu1]}", "control.allowed_hosts"},
    {"proxy: {listen: [\"auto:8001\"]}", "proxy.listen"},
    {"proxy: {expose: all}", "proxy.expose"},
    {"proxy: {api_keys_file: /k}", "proxy.api_keys_file"},
    {"proxy: {max_body_bytes: 1MiB}", "proxy.max_body_bytes"},
    {"proxy: {cors_origins: [\"*\"]}", "proxy.cors_origins"},
    {"docker: {host: \"unix:///d.sock\"}", "docker.host"},
    {"hub: {endpoint: \"http://127.0.0.1:1\"}", "hub.endpoint"},
    {"hub: {cache: /c}", "hub.cache"},
    {"hub: {token_file: /t}", "hub.token_file"},
    {"hub: {connections: 9}", "hub.connections"},
    {"hub: {ca_file: /ca}", "hub.ca_file"},
    {"sources: {fork: {vision: false}}", "sources.fork"},
    {"sources: {mine: {kind: debian}}", "sources.mine"},
};

TEST(Differences, every_key_is_told_by_its_name) {
  for (const auto& [line, name] : kLines) {
    EXPECT_THAT(changed(kBase, line + "\n" + kBase), ElementsAre(name)) << line;
    EXPECT_THAT(changed(line + "\n" + kBase, kBase), ElementsAre(name)) << line;
  }
  EXPECT_THAT(changed("docker: {host: \"tcp://127.0.0.1:1\"}\n",
                      "docker: {host: \"tcp://127.0.0.1:1\", tls_ca: /a, tls_cert: /c, tls_key: /k}\n"),
              ElementsAre("docker.tls_ca", "docker.tls_cert", "docker.tls_key"));
}

/// A key that is added to a table and forgotten in the comparison fails here.
TEST(Differences, no_key_of_the_daemon_is_forgotten) {
  std::set<std::string> tried{"docker.tls_ca", "docker.tls_cert", "docker.tls_key"};
  for (const auto& [_, name] : kLines) tried.insert(name);
  const auto expect_tried = [&tried](const auto& fields, const std::string& prefix) {
    for (const auto& field : fields) {
      if (field.apply != nullptr) EXPECT_TRUE(tried.contains(prefix + field.info.key)) << prefix << field.info.key;
    }
  };
  expect_tried(root_fields(), "");
  expect_tried(control_fields(), "control.");
  expect_tried(proxy_fields(), "proxy.");
  expect_tried(docker_fields(), "docker.");
  expect_tried(hub_fields(), "hub.");
}

TEST(Differences, models_and_profiles_by_name) {
  EXPECT_THAT(
      changed(kBase, "models:\n  m: {path: /n.gguf}\n  n: {path: /m.gguf}\n" + kBase.substr(kBase.find("profiles:"))),
      ElementsAre("models.m", "models.n"));
  EXPECT_THAT(changed(kBase, kBase + "  c: {extends: b}\n"), ElementsAre("profiles.c"));
  EXPECT_THAT(changed(kBase + "  c: {extends: b}\n", kBase), ElementsAre("profiles.c"));
}

TEST(Differences, every_setting_of_a_profile_counts) {
  const std::string plain = profile_with("slots: 1");
  for (const char* line : {"quant: null\n    slots: 2",
                           "context: 512",
                           "batch: 64",
                           "ubatch: 64",
                           "image: \"x:1\"",
                           "gpus: none",
                           "gpus: [0]",
                           "placement: {fit_target_mib: 1}",
                           "placement: {mode: n_cpu_moe, layers: 1}",
                           "placement: {mode: override, tensors: [\"a=CPU\"]}",
                           "env: {A: b}",
                           "extra_args: [--x]",
                           "aliases: [z]",
                           "while_loading: hold",
                           "hold_seconds: 1",
                           "on_request: switch",
                           "on_failure: stay_down",
                           "drain_seconds: 1",
                           "stall_seconds: 1",
                           "min_residency_seconds: 1",
                           "idle_stop_seconds: 1",
                           "self_heal: true",
                           "allow_unproven: true",
                           "cache_type: q8_0",
                           "threads: 1",
                           "cache_ram: 0",
                           "ctx_checkpoints: 0"}) {
    const std::string other = std::string(line).find("slots") == std::string::npos
                                  ? profile_with("slots: 1\n    " + std::string(line))
                                  : profile_with(line);
    EXPECT_THAT(changed(plain, other), ElementsAre("profiles.p")) << line;
  }
}

TEST(Differences, a_reordered_file_is_no_change) {
  EXPECT_THAT(changed("control: {listen: [\"unix:/a\", \"127.0.0.1:1\"], allowed_hosts: [a, b]}\ninstance: i\n" + kBase,
                      "instance: i\n"
                      "profiles:\n"
                      "  b: {slots: 2, model: m}\n"
                      "  a: {aliases: [y, x], model: m}\n"
                      "models: {m: {path: /m.gguf}}\n"
                      "control: {allowed_hosts: [b, a], listen: [\"127.0.0.1:1\", \"unix:/a\"]}\n"),
              IsEmpty());
}

TEST(Differences, what_is_written_otherwise_and_means_the_same_is_no_change) {
  EXPECT_THAT(changed(kBase, kBase + "boot: none\nproxy: {max_body_bytes: 268435456}\n"), IsEmpty());
  EXPECT_THAT(changed(kBase + "  c: {extends: b}\n", kBase + "  c: {model: m, slots: 2}\n"), IsEmpty());
  Settings elsewhere = settings_of(kBase);
  elsewhere.file = "/other.yaml";
  EXPECT_THAT(differences(settings_of(kBase), elsewhere), IsEmpty());
}

TEST(Differences, the_order_of_arguments_means_something) {
  EXPECT_THAT(changed(profile_with("extra_args: [--a, --b]"), profile_with("extra_args: [--b, --a]")),
              ElementsAre("profiles.p"));
}

TEST(NeedsRestart, identity_listeners_access_and_docker) {
  for (const char* name : {"instance", "state", "control.listen", "control.token_file", "control.allowed_hosts",
                           "docker.host", "docker.tls_key", "proxy.listen"}) {
    EXPECT_TRUE(needs_restart(name)) << name;
  }
  for (const char* name :
       {"boot", "on_exit", "exit_drain_seconds", "proxy.api_keys_file", "proxy.expose", "proxy.max_body_bytes",
        "hub.cache", "hub.endpoint", "sources.fork", "models.state", "profiles.instance", "profiles.control"}) {
    EXPECT_FALSE(needs_restart(name)) << name;
  }
}

}  // namespace
}  // namespace k3d::config
