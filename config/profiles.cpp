#include "config/profiles.hpp"

#include <algorithm>
#include <array>

#include "config/rules.hpp"
#include "config/tables.hpp"

namespace k3d::config {
namespace {

constexpr std::size_t kLongestChain = 16;

ProfileText* find(std::vector<ProfileText>& profiles, const std::string& name) {
  const auto found = std::ranges::find(profiles, name, &ProfileText::name);
  return found == profiles.end() ? nullptr : &*found;
}

std::vector<ProfileText> read_profiles(const Node& node, Place place, Reporter& reporter) {
  std::vector<ProfileText> profiles;
  const std::optional<Entries> all = entries_of(node, place, "profiles", reporter);
  if (!all) return profiles;
  for (const Entry& entry : all->list) {
    const std::string complaint = rules::profile_name(entry.key);
    if (!complaint.empty()) reporter.add(entry.key_node->place, entry.path, in_quotes(entry.key) + " " + complaint);
    std::optional<Entries> own = entries_of(*entry.value, entry.key_node->place, entry.path, reporter);
    if (!own || find(profiles, entry.key) != nullptr) continue;
    profiles.push_back({entry.key, std::move(*own), {}, {}});
  }
  return profiles;
}

/// `profile` and what it extends, the profile itself first. Incomplete if a base is unknown or the chain has no end.
struct Chain {
  std::vector<ProfileText*> links;
  bool whole = true;
};

Chain chain_of(ProfileText& profile, std::vector<ProfileText>& profiles, Reporter& reporter) {
  Chain chain{{&profile}};
  std::string path = profile.name;
  while (const Entry* extends = chain.links.back()->own.find("extends")) {
    chain.whole = extends->value->kind == Node::Kind::scalar;
    if (!chain.whole) return chain;  // its type is reported with the other keys
    ProfileText* base = find(profiles, extends->value->text);
    const Entry* first = profile.own.find("extends");
    path += " -> " + extends->value->text;
    chain.whole = base != nullptr && std::ranges::count(chain.links, base) == 0;
    if (base == &profile) {
      reporter.add(first->value->place, first->path, "extends itself: " + path);
    } else if (base == nullptr && extends == first) {
      std::vector<std::string> names;
      for (const ProfileText& other : profiles) {
        if (other.name != profile.name) names.push_back(other.name);
      }
      reporter.add(first->value->place, first->path,
                   "there is no profile " + in_quotes(extends->value->text) + suggestion(extends->value->text, names));
    } else if (chain.links.size() == kLongestChain) {
      reporter.add(first->value->place, first->path,
                   "extends more than " + std::to_string(kLongestChain - 1) + " profiles one after the other");
      chain.whole = false;
    }
    if (!chain.whole) return chain;
    chain.links.push_back(base);
  }
  return chain;
}

void replace(Entries& entries, const Entry& entry) {
  const auto found = std::ranges::find(entries.list, entry.key, &Entry::key);
  if (found == entries.list.end()) {
    entries.list.push_back(entry);
  } else {
    *found = entry;
  }
}

void drop(Entries& entries, std::string_view key) {
  std::erase_if(entries.list, [key](const Entry& entry) { return entry.key == key; });
}

/// `over` on top of `env`, key by key. Null entries stay, and read as absent.
void merge_env(Node& env, const Node& over) {
  env.place = over.place;
  for (std::size_t i = 0; i < over.keys.size(); ++i) {
    const auto found = std::ranges::find(env.keys, over.keys[i].text, &Node::text);
    if (found == env.keys.end()) {
      env.keys.push_back(over.keys[i]);
      env.items.push_back(over.items[i]);
    } else {
      const auto at = static_cast<std::size_t>(found - env.keys.begin());
      env.keys[at] = over.keys[i];
      env.items[at] = over.items[i];
    }
  }
}

/// Lays the entries of one link over what came before it. `env` keeps the maps that have to be merged.
void lay_over(Entries& entries, const Entries& own, Node& env) {
  if (own.find("image") != nullptr) drop(entries, "source");
  if (own.find("source") != nullptr) drop(entries, "image");
  for (const Entry& entry : own.list) {
    const Entry* before = entries.find(entry.key);
    const bool merges = entry.key == "env" && before != nullptr && entry.value->kind == Node::Kind::map &&
                        before->value->kind == Node::Kind::map;
    if (!merges) {
      replace(entries, entry);
      continue;
    }
    if (before->value != &env) env = *before->value;
    merge_env(env, *entry.value);
    replace(entries, {entry.key, entry.key_node, &env, entry.path});
  }
}

void resolve(ProfileText& profile, std::vector<ProfileText>& profiles, Reporter& reporter) {
  const Chain chain = chain_of(profile, profiles, reporter);
  profile.entries.place = profile.own.place;
  profile.entries.path = profile.own.path;
  profile.entries.whole = chain.whole;
  for (auto link = chain.links.rbegin(); link != chain.links.rend(); ++link) {
    lay_over(profile.entries, (*link)->own, profile.env);
  }
}

PlacementMode mode_of(const Entries& entries) {
  const Entry* mode = entries.find("mode");
  if (mode == nullptr) return PlacementMode::fit;
  if (mode->value->text == "n_cpu_moe") return PlacementMode::n_cpu_moe;
  if (mode->value->text == "override") return PlacementMode::override_tensors;
  if (mode->value->text == "pinned") return PlacementMode::pinned;
  return PlacementMode::fit;
}

bool has_key(PlacementMode mode, const std::string& key) {
  return std::ranges::any_of(placement_fields(mode),
                             [&key](const Field<Placement>& field) { return field.info.key == key; });
}

/// Takes out keys that only another mode has, which are told from keys that no mode has.
void take_out_other_modes(Entries& entries, PlacementMode mode, Reporter& reporter) {
  struct Named {
    PlacementMode mode;
    const char* name;
  };
  constexpr std::array<Named, 3> kModes{{{PlacementMode::fit, "fit"},
                                         {PlacementMode::n_cpu_moe, "n_cpu_moe"},
                                         {PlacementMode::override_tensors, "override"}}};
  for (const Named& other : kModes) {
    std::erase_if(entries.list, [&other, &reporter, mode](const Entry& entry) {
      if (has_key(mode, entry.key) || !has_key(other.mode, entry.key)) return false;
      reporter.add(entry.key_node->place, entry.path, in_quotes(entry.key) + " belongs to mode " + other.name);
      return true;
    });
  }
}

void decode_placement(const Entry& entry, Placement& placement, Reporter& reporter) {
  std::optional<Entries> entries = entries_of(*entry.value, entry.key_node->place, entry.path, reporter);
  if (!entries) return;
  const Entry* mode = entries->find("mode");
  if (mode != nullptr) {
    const FieldInfo& info = placement_fields(PlacementMode::fit).front().info;
    if (!read(info.shape, *mode->value, mode->path, reporter)) return;
  }
  placement.mode = mode_of(*entries);
  take_out_other_modes(*entries, placement.mode, reporter);
  decode_fields(placement_fields(placement.mode), *entries, placement, reporter);
}

}  // namespace

std::vector<ProfileText> resolve_profiles(const Node& node, Place place, Reporter& reporter) {
  std::vector<ProfileText> profiles = read_profiles(node, place, reporter);
  for (ProfileText& profile : profiles) resolve(profile, profiles, reporter);
  return profiles;
}

Profile decode_profile(const ProfileText& text, Reporter& reporter) {
  Profile profile;
  profile.name = text.name;
  decode_fields(profile_fields(), text.entries, profile, reporter);
  if (profile.source.empty() && text.entries.find("image") == nullptr && text.entries.find("source") == nullptr) {
    profile.source = "fork";
  }
  if (const Entry* placement = text.entries.find("placement")) {
    decode_placement(*placement, profile.placement, reporter);
  }
  if (const Entry* draft = text.entries.find("speculative")) {
    const auto entries = entries_of(*draft->value, draft->key_node->place, draft->path, reporter);
    if (entries) decode_fields(speculative_fields(), *entries, profile.speculative.emplace(), reporter);
  }
  return profile;
}

}  // namespace k3d::config
