// Rules of listeners, Docker, sources and models. Profiles: validate_profiles.cpp.
#include "config/validate.hpp"

#include "config/address.hpp"
#include "config/rules.hpp"

namespace k3d::config {
namespace {

struct Listener {
  Address address;
  std::string text, path;
  Place place;
  bool written = false;  ///< not a default
};

std::vector<Listener> listeners_of(const std::vector<std::string>& listen, const Entries& section) {
  std::vector<Listener> out;
  const Entry* entry = section.find("listen");
  for (std::size_t i = 0; i < listen.size(); ++i) {
    const Result<Address> address = parse_address(listen[i]);
    if (!address) continue;  // reported by its shape
    const bool written = entry != nullptr && i < entry->value->items.size();
    const Place place = written ? entry->value->items[i].place : section.place;
    out.push_back(
        {*address, listen[i], join_path(section.path, "listen") + "[" + std::to_string(i) + "]", place, written});
  }
  return out;
}

void validate_control(const std::vector<Listener>& control, Reporter& reporter) {
  for (const Listener& one : control) {
    if (one.address.kind == Address::Kind::automatic) {
      reporter.add(one.place, one.path, "auto: is for proxy.listen; allowed: unix:/PATH or ADDRESS:PORT");
    } else if (one.address.reach == Address::Reach::elsewhere) {
      reporter.add(one.place, one.path,
                   in_quotes(one.text) +
                       " could be reached from elsewhere without TLS; allowed: unix:/PATH, loopback "
                       "and Tailscale addresses (100.64.0.0/10, fd7a:115c:a1e0::/48)");
    }
  }
}

void validate_proxy(const std::vector<Listener>& proxy, bool has_keys, Reporter& reporter) {
  for (const Listener& one : proxy) {
    if (one.address.kind == Address::Kind::unix_socket) {
      reporter.add(one.place, one.path, "the proxy has no unix socket; allowed: auto:PORT or ADDRESS:PORT");
    } else if (one.address.reach == Address::Reach::elsewhere && !has_keys) {
      reporter.add(one.place, one.path,
                   in_quotes(one.text) +
                       " could be reached by anyone; set proxy.api_keys_file, or take auto:PORT, a "
                       "loopback or a Tailscale address");
    }
  }
}

void refuse_collisions(const std::vector<Listener>& all, Reporter& reporter) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!collide(all[i].address, all[j].address)) continue;
      const bool at_later = all[i].written || !all[j].written;
      const Listener& here = at_later ? all[i] : all[j];
      const Listener& there = at_later ? all[j] : all[i];
      reporter.add(here.place, here.path,
                   in_quotes(here.text) + " is taken by " + there.path + " (" + in_quotes(there.text) + ")");
    }
  }
}

void refuse(const Entries& written, std::string_view key, const std::string& why, Reporter& reporter) {
  if (const Entry* entry = written.find(key)) reporter.add(entry->key_node->place, entry->path, why);
}

void require(bool there, const Entries& written, std::string_view key, const std::string& why, Reporter& reporter) {
  if (there || written.find(key) != nullptr) return;  // what is written and wrong is reported already
  reporter.add(written.place, written.path, "the key " + in_quotes(key) + " is missing; " + why);
}

}  // namespace

void validate_listeners(const Settings& settings, const Entries& control, const Entries& proxy, Reporter& reporter) {
  std::vector<Listener> all = listeners_of(settings.control.listen, control);
  const std::vector<Listener> proxies = listeners_of(settings.proxy.listen, proxy);
  validate_control(all, reporter);
  validate_proxy(proxies, !settings.proxy.api_keys_file.empty(), reporter);
  all.insert(all.end(), proxies.begin(), proxies.end());
  refuse_collisions(all, reporter);
}

void validate_docker(const DockerSettings& docker, const Entries& written, Reporter& reporter) {
  const bool tls = !docker.tls_ca.empty() || !docker.tls_cert.empty();
  require(docker.tls_key.empty() || !docker.tls_cert.empty(), written, "tls_cert", "tls_key needs it", reporter);
  require(docker.tls_cert.empty() || !docker.tls_key.empty(), written, "tls_key", "tls_cert needs it", reporter);
  if (docker.host.starts_with("unix:")) {
    for (const char* key : {"tls_ca", "tls_cert", "tls_key"})
      refuse(written, key, "a unix socket has no TLS", reporter);
  } else if (!tls && docker.host.starts_with("tcp:") && rules::leaves_this_host(docker.host)) {
    reporter.add(written.place_of("host"), written.path_of("host"),
                 "without TLS whoever is on the way is root there; set tls_ca, tls_cert and tls_key");
  }
}

void validate_source(const Source& source, const Entries& written, Reporter& reporter) {
  if (source.kind == SourceKind::git) {
    require(!source.repo.empty(), written, "repo", "a source of kind git has one", reporter);
    require(!source.commit.empty(), written, "commit", "a source of kind git is pinned by one", reporter);
    return;
  }
  for (const char* key : {"repo", "ref", "commit", "patches"}) {
    refuse(written, key, "a source of kind debian has none", reporter);
  }
  if (!source.repo.empty() && written.find("repo") == nullptr) {
    reporter.add(written.place_of("kind"), written.path_of("kind"),
                 in_quotes(source.name) + " is built in with kind git; give this source another name");
  }
}

void validate_model(const Model& model, const Entries& written, Reporter& reporter) {
  const bool has_path = written.find("path") != nullptr, has_repo = written.find("repo") != nullptr;
  if (!has_path) {
    require(!model.repo.empty(), written, "repo", "a model has either repo or path", reporter);
    const bool revised = model.repo.empty() || !model.revision.empty();
    require(revised, written, "revision", "a repository is pinned by its commit", reporter);
    return;
  }
  if (has_repo) {
    reporter.add(written.place_of("path"), written.path_of("path"), "a model has either repo or path, not both");
  } else if (!model.repo.empty()) {
    reporter.add(written.place_of("path"), written.path_of("path"),
                 in_quotes(model.name) + " is built in with a repo; give a model of your own another name");
  } else {
    for (const char* key : {"revision", "local"}) refuse(written, key, "it belongs to a model with repo", reporter);
    refuse(written, "mmproj", "not yet: images with a model that has path; allowed: null", reporter);
  }
}

}  // namespace k3d::config
