// Rules of profiles: references, pairs of keys, and names that more than one profile would answer to.
#include <algorithm>
#include <map>
#include <set>

#include "config/validate.hpp"

namespace k3d::config {
namespace {

template <class T>
std::vector<std::string> names_of(const std::map<std::string, T>& named) {
  std::vector<std::string> names;
  for (const auto& [name, _] : named) names.push_back(name);
  return names;
}

template <class T>
void check_reference(const std::map<std::string, T>& named, const Entry* entry, const std::string& name,
                     const std::string& kind, Reporter& reporter) {
  if (entry == nullptr || name.empty() || named.contains(name)) return;
  reporter.add(entry->value->place, entry->path,
               "there is no " + kind + " " + in_quotes(name) + suggestion(name, names_of(named)));
}

void check_source(const Settings& settings, const Profile& profile, const Entries& entries, Reporter& reporter) {
  const Entry *source = entries.find("source"), *image = entries.find("image");
  if (source != nullptr && image != nullptr) {
    reporter.add(image->key_node->place, image->path, "a profile has either source or image, not both");
  }
  check_reference(settings.sources, source, profile.source, "source", reporter);
}

void check_model(const Settings& settings, const Profile& profile, const Entries& entries, Reporter& reporter) {
  check_reference(settings.models, entries.find("model"), profile.model, "model", reporter);
  const auto found = settings.models.find(profile.model);
  if (found == settings.models.end()) return;
  const Entry *quant = entries.find("quant"), *model = entries.find("model");
  const bool has_path = !found->second.path.empty();
  if (!has_path && !found->second.repo.empty() && quant == nullptr && entries.whole) {
    reporter.add(model->value->place, model->path,
                 "the key \"quant\" is missing; model " + in_quotes(profile.model) + " is a repository of several");
  } else if (has_path && found->second.repo.empty() && quant != nullptr) {
    reporter.add(quant->key_node->place, quant->path,
                 "model " + in_quotes(profile.model) +
                     " is one file and has no quants; leave it out, or set it to "
                     "null where the profile extends another");
  }
}

/// The entries of `speculative`; none if there are none or they are no map.
Entries draft_entries(const Entries& entries) {
  Entries draft;
  const Entry* section = entries.find("speculative");
  if (section == nullptr || section->value->kind != Node::Kind::map) return draft;
  draft.place = section->key_node->place;
  draft.path = section->path;
  const Node& map = *section->value;
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    draft.list.push_back({map.keys[i].text, &map.keys[i], &map.items[i], join_path(section->path, map.keys[i].text)});
  }
  return draft;
}

/// What a type of draft needs, and what means nothing to it.
void check_draft(const Settings& settings, const Profile& profile, const Entries& entries, Reporter& reporter) {
  if (!profile.speculative) return;
  const Entries draft = draft_entries(entries);
  const Entry *model = draft.find("model"), *device = draft.find("device");
  const std::string& type = profile.speculative->type;
  check_reference(settings.models, model, profile.speculative->model, "model", reporter);
  if (type.empty()) return;
  if (type.starts_with("ngram-")) {
    for (const Entry* entry : {model, device}) {
      if (entry == nullptr) continue;
      reporter.add(entry->key_node->place, entry->path, type + " drafts without a model; leave " + entry->key + " out");
    }
    return;
  }
  if (model == nullptr && type != "draft-mtp") {
    reporter.add(draft.place, draft.path, "the key \"model\" is missing; " + type + " drafts with a model of its own");
  }
  const auto found = settings.models.find(profile.speculative->model);
  if (model == nullptr || found == settings.models.end() || !found->second.path.empty()) return;
  reporter.add(model->value->place, model->path,
               "a draft model is a file of this host; model " + in_quotes(found->first) + " has no path");
}

/// With GPUs listed by index, the draft's is one of them.
void check_draft_device(const Profile& profile, const Entries& entries, Reporter& reporter) {
  if (!profile.speculative || profile.gpus.listed.empty()) return;
  const Entries draft = draft_entries(entries);
  const Entry* device = draft.find("device");
  const auto is_index = [](const std::string& text) { return text.find_first_not_of("0123456789") == std::string::npos; };
  const std::vector<std::string>& listed = profile.gpus.listed;
  if (device == nullptr || !is_index(device->value->text) || !std::ranges::all_of(listed, is_index)) return;
  if (std::ranges::count(listed, device->value->text) > 0) return;
  reporter.add(device->value->place, device->path,
               "GPU " + device->value->text + " is none of gpus; allowed: last, or one of them");
}

void check_numbers(const Profile& profile, const Entries& entries, Reporter& reporter) {
  constexpr int kLeastOfSlot = 256;  // llama-server pads each slot's context to a multiple of 256
  if (profile.context < kLeastOfSlot * profile.slots) {
    const char* key = entries.find("context") != nullptr ? "context" : "slots";
    reporter.add(entries.place_of(key), entries.path_of(key),
                 "a context of " + std::to_string(profile.context) + " is too small for " +
                     std::to_string(profile.slots) + " slots; allowed: at least " +
                     std::to_string(kLeastOfSlot * profile.slots) + ", 256 a slot");
  }
  if (profile.batch && profile.ubatch && *profile.ubatch > *profile.batch) {
    const char* key = entries.find("ubatch") != nullptr ? "ubatch" : "batch";
    reporter.add(entries.place_of(key), entries.path_of(key),
                 "a ubatch of " + std::to_string(*profile.ubatch) + " is larger than batch (" +
                     std::to_string(*profile.batch) + "); allowed: at most batch");
  }
}

void check_gpus(const Profile& profile, const Entries& entries, Reporter& reporter) {
  const std::vector<std::string>& listed = profile.gpus.listed;
  const std::set<std::string> distinct(listed.begin(), listed.end());
  if (distinct.size() != listed.size()) {
    reporter.add(entries.place_of("gpus"), entries.path_of("gpus"), "a GPU is there twice");
  }
}

void check_placement(const Profile& profile, const Entries& entries, Reporter& reporter) {
  const std::vector<std::string>& listed = profile.gpus.listed;
  const Place place = entries.place_of("placement");
  const std::string path = entries.path_of("placement");
  const auto check_count = [&listed, &place, &path, &reporter](std::size_t count, const std::string& key) {
    if (count <= 1 || listed.empty() || count == listed.size()) return;
    reporter.add(place, path,
                 key + " has " + std::to_string(count) + " numbers for " + std::to_string(listed.size()) +
                     " GPUs; allowed: one for each");
  };
  const std::vector<double>& split = profile.placement.tensor_split;
  check_count(profile.placement.fit_target_mib.size(), "fit_target_mib");
  check_count(split.size(), "tensor_split");
  if (!split.empty() && std::ranges::all_of(split, [](double share) { return share == 0; })) {
    reporter.add(place, path, "tensor_split gives nothing to any GPU; allowed: at least one number over 0");
  }
}

/// `KEY: value # more` ends at the blank before #, which in an environment file it would not (F88).
void check_env(const Entries& entries, Reporter& reporter) {
  const Entry* env = entries.find("env");
  if (env == nullptr || env->value->kind != Node::Kind::map) return;
  for (std::size_t i = 0; i < env->value->keys.size(); ++i) {
    const Node& value = env->value->items[i];
    if (!value.comment_follows) continue;
    reporter.add(value.place, join_path(env->path, env->value->keys[i].text),
                 in_quotes(value.text) +
                     " is followed by # on its line, so that nobody can tell where it ends; put "
                     "the value in quotes");
  }
}

/// Who answers to which name. Aliases that an extended profile hands on are one text in one place, and shared.
class Names {
 public:
  Names(const std::vector<Profile>& profiles, Reporter& reporter) : profiles_(profiles), reporter_(reporter) {}

  void check(const Profile& profile, const Entries& entries) {
    const Entry* aliases = entries.find("aliases");
    if (aliases == nullptr || aliases->value->kind != Node::Kind::list) return;
    for (std::size_t i = 0; i < aliases->value->items.size(); ++i) {
      const Node& alias = aliases->value->items[i];
      if (alias.kind != Node::Kind::scalar) continue;
      const std::string taken = taken_by(profile, alias);
      if (taken.empty()) continue;
      reporter_.add(alias.place, aliases->path + "[" + std::to_string(i) + "]", in_quotes(alias.text) + " is " + taken);
    }
  }

 private:
  std::string taken_by(const Profile& profile, const Node& alias) {
    for (const Profile& other : profiles_) {
      const bool own = &other == &profile;
      if (alias.text == other.name) return own ? "this profile's own name" : "the name of another profile";
      if (alias.text == other.model) return own ? "this profile's own model" : "the model of profile " + other.name;
    }
    const auto [first, fresh] = seen_.try_emplace(alias.text, Seen{alias.place, profile.name});
    const Place& place = first->second.place;
    if (fresh || (place.line == alias.place.line && place.column == alias.place.column)) return {};
    return "an alias already, of profile " + first->second.profile + " on line " + std::to_string(place.line);
  }

  struct Seen {
    Place place;
    std::string profile;
  };
  const std::vector<Profile>& profiles_;
  Reporter& reporter_;
  std::map<std::string, Seen> seen_;
};

}  // namespace

void validate_boot(const Settings& settings, const Entries& root, Reporter& reporter) {
  if (settings.boot.choice != Boot::Choice::profile || settings.find_profile(settings.boot.profile) != nullptr) return;
  std::vector<std::string> names{"none", "last"};
  for (const Profile& profile : settings.profiles) names.push_back(profile.name);
  reporter.add(root.place_of("boot"), root.path_of("boot"),
               "there is no profile " + in_quotes(settings.boot.profile) + suggestion(settings.boot.profile, names));
}

void validate_sizes(const Profile& profile, const Entries& written, Reporter& reporter) {
  check_numbers(profile, written, reporter);
  check_placement(profile, written, reporter);
}

void validate_profiles(const Settings& settings, const std::vector<ProfileText>& texts, Reporter& reporter) {
  Names names(settings.profiles, reporter);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Profile& profile = settings.profiles[i];
    const Entries& entries = texts[i].entries;
    check_source(settings, profile, entries, reporter);
    check_model(settings, profile, entries, reporter);
    check_draft(settings, profile, entries, reporter);
    check_draft_device(profile, entries, reporter);
    check_gpus(profile, entries, reporter);
    validate_sizes(profile, entries, reporter);
    check_env(entries, reporter);
    names.check(profile, entries);
  }
}

}  // namespace k3d::config
