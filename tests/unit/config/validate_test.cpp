// Listeners, paths, Docker, the hub, sources and models.
#include "config/validate.hpp"

#include "decoding.hpp"

namespace k3d::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<std::string> control(const std::string& address) {
  return mistakes_of("control: {listen: [\"" + address + "\"]}\n");
}
std::vector<std::string> proxy(const std::string& address) {
  return mistakes_of("proxy: {listen: [\"" + address + "\"]}\n");
}

TEST(Listeners, control_is_for_this_host_and_tailscale) {
  for (const char* good : {"unix:/run/k3d.sock", "127.0.0.1:7300", "127.9.9.9:1", "localhost:7300", "[::1]:7300",
                           "100.64.0.1:7300", "100.127.255.254:7300", "[fd7a:115c:a1e0::1]:7300"}) {
    EXPECT_THAT(control(good), IsEmpty()) << good;
  }
  for (const char* bad : {"0.0.0.0:7300", "192.168.1.2:7300", "100.63.0.1:7300", "100.128.0.1:7300", "[::]:7300",
                          "[fd7a:115c:a1e1::1]:7300", "[::ffff:10.0.0.1]:7300"}) {
    EXPECT_THAT(control(bad), ElementsAre(AllOf(StartsWith("1:20: control.listen[0]: "), HasSubstr("without TLS"))))
        << bad;
  }
  EXPECT_THAT(control("auto:7300"), ElementsAre(HasSubstr("auto: is for proxy.listen")));
}

TEST(Listeners, proxy_asks_for_keys_where_anyone_can_reach_it) {
  for (const char* good : {"auto:8000", "127.0.0.1:80", "100.100.1.1:8000", "[fd7a:115c:a1e0:1::1]:8000"}) {
    EXPECT_THAT(proxy(good), IsEmpty()) << good;
  }
  EXPECT_THAT(
      proxy("0.0.0.0:8000"),
      ElementsAre("1:18: proxy.listen[0]: \"0.0.0.0:8000\" could be reached by anyone; set proxy.api_keys_file, or "
                  "take auto:PORT, a loopback or a Tailscale address"));
  EXPECT_THAT(mistakes_of("proxy: {listen: [\"0.0.0.0:8000\"], api_keys_file: /k}\n"), IsEmpty());
  EXPECT_THAT(proxy("unix:/run/p.sock"), ElementsAre(HasSubstr("the proxy has no unix socket")));
}

TEST(Listeners, syntax) {
  for (const char* bad :
       {"8000", ":8000", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:08", "127.0.0.1:8000x", "::1:8000",
        "[::1]8000", "example.com:8000", "127.1:8000", "http://127.0.0.1:80", "auto:", "auto"}) {
    EXPECT_THAT(proxy(bad), ElementsAre(StartsWith("1:18: proxy.listen[0]: "))) << bad;
  }
  EXPECT_THAT(control("unix:run/k3d.sock"), ElementsAre(HasSubstr("is relative")));
  EXPECT_THAT(control("unix:/" + std::string(107, 'a')),
              ElementsAre(HasSubstr("is longer than a socket's path may be")));
}

TEST(Listeners, none_is_there_twice) {
  EXPECT_THAT(mistakes_of("proxy: {listen: [\"auto:8000\", \"127.0.0.1:8000\", \"auto:8001\"]}\n"),
              ElementsAre("1:31: proxy.listen[1]: \"127.0.0.1:8000\" is taken by proxy.listen[0] (\"auto:8000\")"));
  EXPECT_THAT(mistakes_of("control: {listen: [\"localhost:8000\"]}\n"),
              ElementsAre("1:20: control.listen[0]: \"localhost:8000\" is taken by proxy.listen[0] (\"auto:8000\")"));
  EXPECT_THAT(mistakes_of("proxy: {listen: [\"127.0.0.1:7300\"]}\n"),
              ElementsAre(HasSubstr("is taken by control.listen[1]")));
}

TEST(Paths, are_absolute_and_plain) {
  EXPECT_THAT(mistakes_of("state: var/lib\n"), ElementsAre(StartsWith("1:8: state: \"var/lib\" is relative")));
  EXPECT_THAT(mistakes_of("hub: {cache: /data/../etc}\n"), ElementsAre(HasSubstr("has \"..\" in it")));
  EXPECT_THAT(mistakes_of("hub: {token_file: \"/a\\tb\"}\n"), ElementsAre(HasSubstr("has a control character in it")));
  EXPECT_THAT(mistakes_of("hub: {cache: ~/hf}\n"), ElementsAre(HasSubstr("is relative")));
}

TEST(Paths, state_leaves_room_for_the_sockets_below) {
  EXPECT_THAT(mistakes_of("state: /" + std::string(76, 'a') + "\n"), IsEmpty());
  EXPECT_THAT(mistakes_of("state: /" + std::string(77, 'a') + "\n"),
              ElementsAre(AllOf(StartsWith("1:8: state: "), HasSubstr("is too long"))));
}

TEST(Docker, hosts) {
  const auto host = [](const std::string& text) { return mistakes_of("docker: {host: \"" + text + "\"}\n"); };
  for (const char* good : {"unix:///run/docker.sock", "tcp://127.0.0.1:2375"})
    EXPECT_THAT(host(good), IsEmpty()) << good;
  for (const char* bad : {"unix://docker.sock", "ssh://x", "/run/docker.sock", "tcp://", "tcp://u:p@127.0.0.1:1"}) {
    EXPECT_THAT(host(bad), ElementsAre(StartsWith("1:16: docker.host: "))) << bad;
  }
  EXPECT_THAT(host("tcp://10.0.0.1:2375"), ElementsAre(HasSubstr("without TLS whoever is on the way is root there")));
  EXPECT_THAT(mistakes_of("docker: {host: \"tcp://10.0.0.1:2376\", tls_ca: /a, tls_cert: /c, tls_key: /k}\n"),
              IsEmpty());
  EXPECT_THAT(mistakes_of("docker: {host: \"tcp://10.0.0.1:2376\", tls_cert: /c}\n"),
              ElementsAre("1:1: docker: the key \"tls_key\" is missing; tls_cert needs it"));
  EXPECT_THAT(mistakes_of("docker: {tls_ca: /a}\n"), ElementsAre("1:10: docker.tls_ca: a unix socket has no TLS"));
}

TEST(Hub, F93_endpoints) {
  const auto endpoint = [](const std::string& text) { return mistakes_of("hub: {endpoint: \"" + text + "\"}\n"); };
  for (const char* good : {"https://huggingface.co", "https://mirror.example.com:8443/hf", "http://127.0.0.1:9000"}) {
    EXPECT_THAT(endpoint(good), IsEmpty()) << good;
  }
  for (const char* bad : {"http://mirror.example.com", "huggingface.co", "https://", "https://a@b", "file:///etc",
                          "https://a?b", "https://a b"}) {
    EXPECT_THAT(endpoint(bad), ElementsAre(StartsWith("1:17: hub.endpoint: "))) << bad;
  }
}

TEST(Models, F93_repositories) {
  const auto repo = [](const std::string& text) {
    return mistakes_of("models: {m: {repo: \"" + text + "\", revision: " + std::string(40, 'a') + "}}\n");
  };
  EXPECT_THAT(repo("unsloth/Kimi-K3-GGUF"), IsEmpty());
  for (const char* bad : {"https://huggingface.co/a/b", "a", "a/b/c", "a/..", "../b", "a@b/c", "/a", "a/", "a/b@main",
                          "[::1]/a", "a b/c", "a/b?x"}) {
    EXPECT_THAT(repo(bad),
                ElementsAre(AllOf(StartsWith("1:20: models.m.repo: "), HasSubstr("is no repository of the hub"))))
        << bad;
  }
}

TEST(Models, F91_revisions_are_whole_commits) {
  for (const std::string& bad : std::vector<std::string>{"main", std::string(39, 'a'), std::string(41, 'a'),
                                                         std::string(40, 'A'), std::string(40, 'g')}) {
    EXPECT_THAT(mistakes_of("models: {m: {repo: a/b, revision: " + bad + "}}\n"),
                ElementsAre(HasSubstr("1:35: models.m.revision: \"" + bad + "\" is no whole commit")));
  }
  EXPECT_EQ(settings_of("models: {m: {repo: a/b, revision: " + std::string(40, '1') + "}}\n").models.at("m").revision,
            std::string(40, '1'));
}

TEST(Models, repo_or_path) {
  EXPECT_THAT(mistakes_of("models:\n  m: {}\n"),
              ElementsAre("2:3: models.m: the key \"repo\" is missing; a model has either repo or path"));
  EXPECT_THAT(mistakes_of("models:\n  m: {repo: a/b, revision: " + std::string(40, 'a') + ", path: /x.gguf}\n"),
              ElementsAre(HasSubstr("models.m.path: a model has either repo or path, not both")));
  EXPECT_THAT(mistakes_of("models: {m: {repo: a/b}}\n"),
              ElementsAre("1:10: models.m: the key \"revision\" is missing; a repository is pinned by its commit"));
  EXPECT_THAT(
      mistakes_of("models: {m: {path: /x.gguf, local: /l, revision: " + std::string(40, 'a') + ", mmproj: x.gguf}}\n"),
      ElementsAre(HasSubstr("models.m.local: it belongs"), HasSubstr("models.m.revision: it belongs"),
                  HasSubstr("models.m.mmproj: not yet")));
  EXPECT_THAT(mistakes_of("models: {kimi-k3: {path: /x.gguf}}\n"),
              ElementsAre(HasSubstr("\"kimi-k3\" is built in with a repo")));
}

TEST(Models, files) {
  EXPECT_THAT(mistakes_of("models: {m: {path: /a/k3-00002-of-00017.gguf}}\n"),
              ElementsAre(HasSubstr("isn't the first shard of its set")));
  EXPECT_THAT(mistakes_of("models: {m: {path: /a/k3-00001-of-00017.gguf}}\n"), IsEmpty());
  EXPECT_THAT(mistakes_of("models: {kimi-k3: {mmproj: ../x.gguf}}\n"), ElementsAre(HasSubstr("models.kimi-k3.mmproj")));
}

TEST(Models, entries_override_built_in_ones_key_by_key) {
  const Settings settings =
      settings_of("models: {kimi-k3: {local: /data/kimi}}\nsources: {fork: {commit: " + std::string(40, 'b') + "}}\n");
  EXPECT_EQ(settings.models.at("kimi-k3").local, "/data/kimi");
  EXPECT_EQ(settings.models.at("kimi-k3").mmproj, "mmproj-BF16.gguf");
  EXPECT_EQ(settings.sources.at("fork").commit, std::string(40, 'b'));
  EXPECT_TRUE(settings.sources.at("fork").vision);
}

TEST(Sources, what_belongs_to_which_kind) {
  EXPECT_THAT(mistakes_of("sources:\n  s: {kind: git}\n"),
              ElementsAre(HasSubstr("2:3: sources.s: the key \"commit\" is missing"),
                          HasSubstr("2:3: sources.s: the key \"repo\" is missing")));
  EXPECT_THAT(mistakes_of("sources: {s: {kind: debian, commit: " + std::string(40, 'a') + "}}\n"),
              ElementsAre("1:29: sources.s.commit: a source of kind debian has none"));
  EXPECT_THAT(mistakes_of("sources: {fork: {kind: debian}}\n"),
              ElementsAre(HasSubstr("\"fork\" is built in with kind git")));
  EXPECT_THAT(mistakes_of("sources: {fork: {patches: [a.patch]}}\n"),
              ElementsAre(StartsWith("1:28: sources.fork.patches[0]: \"a.patch\" is relative")));
  EXPECT_THAT(mistakes_of("sources: {fork: {repo: \"git@github.com:a/b\"}}\n"),
              ElementsAre(HasSubstr("sources.fork.repo")));
}

TEST(Sources, cuda_architectures) {
  EXPECT_EQ(settings_of("sources: {fork: {cuda_architectures: 120}}\n").sources.at("fork").cuda_architectures, "120");
  EXPECT_EQ(
      settings_of("sources: {fork: {cuda_architectures: \"90;120a-real\"}}\n").sources.at("fork").cuda_architectures,
      "90;120a-real");
  EXPECT_THAT(mistakes_of("sources: {fork: {cuda_architectures: blackwell}}\n"),
              ElementsAre(HasSubstr("allowed: auto or architectures")));
}

TEST(Proxy, origins_and_hosts) {
  EXPECT_THAT(mistakes_of("proxy: {cors_origins: [\"https://a.example.com\", \"http://localhost:3000\", \"*\"]}\n"),
              IsEmpty());
  EXPECT_THAT(mistakes_of("proxy: {cors_origins: [\"a.example.com\", \"https://a/b\"]}\n"),
              ElementsAre(HasSubstr("cors_origins[0]: \"a.example.com\" is no origin"), HasSubstr("has a path in it")));
  EXPECT_THAT(mistakes_of("control: {allowed_hosts: [\"a b\"], group: \"a b\"}\n").size(), 2U);
}

}  // namespace
}  // namespace k3d::config
