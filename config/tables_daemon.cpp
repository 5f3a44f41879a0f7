// Tables of what belongs to the daemon: the top level, control, proxy, docker, hub.
#include "config/rules.hpp"
#include "config/tables.hpp"

namespace k3d::config {
namespace {

constexpr const char* kPathWords = "an absolute path without ..";

Shape path() {
  return shape::text(kPathWords, rules::path, "^/");
}
Shape seconds_from(long long min) {
  return shape::integer(min, 604'800);
}
Shape name(Rule rule = rules::name) {
  return shape::text("a name of up to 64 letters, digits, '.', '_' and '-'", rule, "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$");
}

void set_boot(Settings& settings, const Value& value) {
  settings.boot = value.text == "none"   ? Boot{}
                  : value.text == "last" ? Boot{Boot::Choice::last, {}}
                                         : Boot{Boot::Choice::profile, value.text};
}

}  // namespace

const Fields<Settings>& root_fields() {
  static const Fields<Settings> kFields{
      {{"instance", name(), "default",
        "Label of this daemon's containers. Two daemons on one host need two instances, states and listeners."},
       [](Settings& s, const Value& v) { s.instance = v.text; }},
      {{"boot", shape::word_or("none", shape::word_or("last", name())), "none",
        "What to start after the host has booted: none, last (what ran before), or a profile. A daemon that is "
        "merely restarted always adopts the engine that runs."},
       set_boot},
      {{"on_exit", shape::choice({"leave", "stop"}), "leave",
        "What becomes of the engine when k3d itself is stopped: leave keeps the loaded model, stop ends it."},
       [](Settings& s, const Value& v) { s.on_exit = v.text == "stop" ? OnExit::stop : OnExit::leave; }},
      {{"exit_drain_seconds", seconds_from(0), "30", "How long open streams may go on when k3d is stopped."},
       [](Settings& s, const Value& v) { s.exit_drain = seconds(v.integer); }},
      {{"state", shape::text("an absolute path of at most 77 bytes", rules::state_path, "^/"), "/var/lib/k3d",
        "Folder of the database and of the attempts' sockets and logs."},
       [](Settings& s, const Value& v) { s.state = v.text; }},
      {{"control", shape::section("a map, see control"), "{}", "The REST API, the dashboard and metrics."}},
      {{"proxy", shape::section("a map, see proxy"), "{}", "The address that clients talk to."}},
      {{"docker", shape::section("a map, see docker"), "{}", "The Docker Engine that runs the engines."}},
      {{"hub", shape::section("a map, see hub"), "{}", "The model hub and the cache of its files."}},
      {{"sources", shape::section("a map of names to sources"), "{}",
        "Pinned llama.cpp commits that engine images are built from. Built in: fork, mainline, debian; an entry of "
        "that name overrides key by key."}},
      {{"models", shape::section("a map of names to models"), "{}",
        "Models of the hub or files of this host. Built in: kimi-k3; an entry of that name overrides key by key."}},
      {{"quants", shape::section("a map of models to maps of quants, see quants"), "{}",
        "What is known of quants. Built in: config/quants.yaml; what is written overrides it key by key."}},
      {{"profiles", shape::section("a map of names to profiles"), "{}",
        "Named ways to serve; at most one runs at a time."}},
  };
  return kFields;
}

const Fields<ControlSettings>& control_fields() {
  static const Fields<ControlSettings> kFields{
      {{"listen", shape::list(shape::text("unix:/PATH or ADDRESS:PORT", rules::listen), 1, 16),
        "[\"unix:/run/k3d/control.sock\", \"127.0.0.1:7300\"]",
        "Where the control API listens: unix sockets (0660), loopback and Tailscale addresses."},
       [](ControlSettings& s, const Value& v) { s.listen = texts(v); }},
      {{"group", shape::text("the name of a group", rules::group), "null",
        "Group of the unix socket; its members may do everything. Default: the daemon's own."},
       [](ControlSettings& s, const Value& v) { s.group = v.text; }},
      {{"token_file", path(), "/etc/k3d/token",
        "File of the bearer token for everything; made (0600) at the first start. "
        "$CREDENTIALS_DIRECTORY/token wins."},
       [](ControlSettings& s, const Value& v) { s.token_file = v.text; }},
      {{"read_token_file", path(), "null", "File of a second bearer token that may only GET."},
       [](ControlSettings& s, const Value& v) { s.read_token_file = v.text; }},
      {{"allowed_hosts", shape::list(shape::text("the name of a host", rules::host_name), 0, 64), "[]",
        "Names besides localhost and this host's own that the Host header may have."},
       [](ControlSettings& s, const Value& v) { s.allowed_hosts = texts(v); }},
  };
  return kFields;
}

const Fields<ProxySettings>& proxy_fields() {
  static const Fields<ProxySettings> kFields{
      {{"listen", shape::list(shape::text("auto:PORT or ADDRESS:PORT", rules::listen), 1, 16), "[\"auto:8000\"]",
        "Where clients ask. auto:PORT is 127.0.0.1 and the address of any interface named tailscale*, as soon as "
        "there is one. Other addresses need api_keys_file."},
       [](ProxySettings& s, const Value& v) { s.listen = texts(v); }},
      {{"expose", shape::choice({"inference", "all"}), "inference",
        "inference lets through what answers prompts; all also /slots (other people's prompts), /metrics and POST "
        "/props."},
       [](ProxySettings& s, const Value& v) { s.expose = v.text == "all" ? Expose::all : Expose::inference; }},
      {{"api_keys_file", path(), "null", "File of API keys, lines of NAME SHA256HEX. Without it no key is asked."},
       [](ProxySettings& s, const Value& v) { s.api_keys_file = v.text; }},
      {{"max_body_bytes", shape::bytes(64 * kKiB, 64 * kGiB), "256MiB", "Largest request body; larger ones get 413."},
       [](ProxySettings& s, const Value& v) { s.max_body_bytes = v.bytes; }},
      {{"cors_origins",
        shape::list(shape::text("an origin such as https://chat.example.com, or *", rules::origin), 0, 64), "[]",
        "Origins whose pages may ask from a browser."},
       [](ProxySettings& s, const Value& v) { s.cors_origins = texts(v); }},
  };
  return kFields;
}

const Fields<DockerSettings>& docker_fields() {
  static const Fields<DockerSettings> kFields{
      {{"host", shape::text("unix:///PATH, or tcp://HOST:PORT with TLS", rules::docker_host),
        "unix:///var/run/docker.sock", "Where the Docker Engine listens."},
       [](DockerSettings& s, const Value& v) { s.host = v.text; }},
      {{"tls_ca", path(), "null", "PEM file of the authority that signed Docker's certificate."},
       [](DockerSettings& s, const Value& v) { s.tls_ca = v.text; }},
      {{"tls_cert", path(), "null", "PEM file of k3d's own certificate; needs tls_key."},
       [](DockerSettings& s, const Value& v) { s.tls_cert = v.text; }},
      {{"tls_key", path(), "null", "PEM file of its key; needs tls_cert."},
       [](DockerSettings& s, const Value& v) { s.tls_key = v.text; }},
  };
  return kFields;
}

const Fields<HubSettings>& hub_fields() {
  static const Fields<HubSettings> kFields{
      {{"endpoint", shape::text("https://HOST, or http:// on this host", rules::hub_endpoint), "https://huggingface.co",
        "The hub or a mirror of it."},
       [](HubSettings& s, const Value& v) { s.endpoint = v.text; }},
      {{"cache", path(), "/data/hf/hub", "Folder of weights, in the hub's own cache layout, so that tools share it."},
       [](HubSettings& s, const Value& v) { s.cache = v.text; }},
      {{"token_file", path(), "null", "File of the hub's token."},
       [](HubSettings& s, const Value& v) { s.token_file = v.text; }},
      {{"connections", shape::integer(1, 64), "8", "How many connections a download uses."},
       [](HubSettings& s, const Value& v) { s.connections = static_cast<int>(v.integer); }},
      {{"bandwidth", shape::bytes(kKiB, 1000 * kGiB), "null", "Most bytes a second that downloads may take.", false,
        "limiting downloads isn't built"}},
      {{"window", shape::text("HH:MM-HH:MM", rules::one_line), "null", "Time of day in which downloads may run.", false,
        "a time window for downloads isn't built"}},
      {{"ca_file", path(), "null", "PEM file of further authorities for the hub or a proxy on the way."},
       [](HubSettings& s, const Value& v) { s.ca_file = v.text; }},
  };
  return kFields;
}

}  // namespace k3d::config
