#include "settings_text.hpp"

#include <sstream>

namespace k3d::config {
namespace {

class Writer {
 public:
  void section(const std::string& name) { prefix_ = name.empty() ? "" : name + "."; }

  void put(const char* key, const std::string& value) { out_ << prefix_ << key << ": " << value << '\n'; }
  void put(const char* key, const char* value) { put(key, std::string(value)); }
  void put(const char* key, const std::filesystem::path& value) { put(key, value.string()); }
  void put(const char* key, bool value) { put(key, value ? "true" : "false"); }
  void put(const char* key, seconds value) { put(key, std::to_string(value.count())); }
  template <class N>
    requires std::is_integral_v<N>
  void put(const char* key, N value) {
    put(key, std::to_string(value));
  }
  template <class T>
  void put(const char* key, const std::optional<T>& value) {
    if (value) {
      put(key, *value);
    } else {
      put(key, "auto");
    }
  }
  template <class T>
  void put(const char* key, const std::vector<T>& values) {
    std::ostringstream items;
    for (const T& value : values) items << " <" << value << ">";
    put(key, "[" + items.str() + "]");
  }

  [[nodiscard]] std::string text() const { return out_.str(); }

 private:
  std::string prefix_;
  std::ostringstream out_;
};

void put_daemon(Writer& w, const Settings& s) {
  w.put("instance", s.instance);
  w.put("boot", s.boot.choice == Boot::Choice::none   ? std::string("none")
                : s.boot.choice == Boot::Choice::last ? std::string("last")
                                                      : "profile " + s.boot.profile);
  w.put("on_exit", s.on_exit == OnExit::leave ? "leave" : "stop");
  w.put("exit_drain", s.exit_drain);
  w.put("state", s.state);
  w.section("control");
  w.put("listen", s.control.listen);
  w.put("group", s.control.group);
  w.put("token_file", s.control.token_file);
  w.put("read_token_file", s.control.read_token_file);
  w.put("allowed_hosts", s.control.allowed_hosts);
  w.section("proxy");
  w.put("listen", s.proxy.listen);
  w.put("expose", s.proxy.expose == Expose::all ? "all" : "inference");
  w.put("api_keys_file", s.proxy.api_keys_file);
  w.put("max_body_bytes", s.proxy.max_body_bytes);
  w.put("cors_origins", s.proxy.cors_origins);
  w.section("docker");
  w.put("host", s.docker.host);
  w.put("tls_ca", s.docker.tls_ca);
  w.put("tls_cert", s.docker.tls_cert);
  w.put("tls_key", s.docker.tls_key);
  w.section("hub");
  w.put("endpoint", s.hub.endpoint);
  w.put("cache", s.hub.cache);
  w.put("token_file", s.hub.token_file);
  w.put("connections", s.hub.connections);
  w.put("ca_file", s.hub.ca_file);
}

void put_source(Writer& w, const Source& s) {
  w.put("kind", s.kind == SourceKind::debian ? "debian" : "git");
  w.put("repo", s.repo);
  w.put("ref", s.ref);
  w.put("commit", s.commit);
  w.put("vision", s.vision);
  w.put("patches", s.patches);
  w.put("cuda_architectures", s.cuda_architectures);
}

void put_model(Writer& w, const Model& m) {
  w.put("repo", m.repo);
  w.put("revision", m.revision);
  w.put("mmproj", m.mmproj);
  w.put("tokenizer", m.tokenizer);
  w.put("local", m.local);
  w.put("path", m.path);
}

void put_placement(Writer& w, const Placement& p) {
  w.put("placement.mode", static_cast<int>(p.mode));
  w.put("placement.fit_target_mib", p.fit_target_mib);
  w.put("placement.n_cpu_moe", p.n_cpu_moe);
  w.put("placement.tensor_split", p.tensor_split);
  w.put("placement.tensors", p.tensors);
}

void put_profile(Writer& w, const Profile& p) {
  w.put("model", p.model);
  w.put("quant", p.quant);
  w.put("source", p.source);
  w.put("image", p.image);
  w.put("gpus", static_cast<int>(p.gpus.choice));
  w.put("gpus.listed", p.gpus.listed);
  put_placement(w, p.placement);
  if (p.speculative) w.put("speculative", p.speculative->type + " " + p.speculative->model);
  w.put("preflight", p.preflight == Preflight::exact ? "exact" : "computed");
  w.put("context", p.context);
  w.put("slots", p.slots);
  w.put("batch", p.batch);
  w.put("ubatch", p.ubatch);
  for (const auto& [name, value] : p.env) w.put(("env." + name).c_str(), value);
  w.put("extra_args", p.extra_args);
  w.put("aliases", p.aliases);
  w.put("while_loading", p.while_loading == WhileLoading::hold ? "hold" : "reject");
  w.put("hold", p.hold);
  w.put("on_request", p.on_request == OnRequest::switch_over ? "switch" : "refuse");
  w.put("on_failure", p.on_failure == OnFailure::stay_down ? "stay_down" : "rollback");
  w.put("drain", p.drain);
  w.put("stall", p.stall);
  w.put("min_residency", p.min_residency);
  w.put("idle_stop", p.idle_stop);
  w.put("self_heal", p.self_heal);
  w.put("allow_unproven", p.allow_unproven);
  w.put("cache_type", p.cache_type);
  w.put("threads", p.threads);
  w.put("cache_ram", p.cache_ram);
  w.put("ctx_checkpoints", p.ctx_checkpoints);
}

}  // namespace

std::string settings_text(const Settings& settings) {
  Writer w;
  put_daemon(w, settings);
  for (const auto& [name, source] : settings.sources) {
    w.section("sources." + name);
    put_source(w, source);
  }
  for (const auto& [name, model] : settings.models) {
    w.section("models." + name);
    put_model(w, model);
  }
  for (const Profile& profile : settings.profiles) {
    w.section("profiles." + profile.name);
    put_profile(w, profile);
  }
  return w.text();
}

}  // namespace k3d::config
