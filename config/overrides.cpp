#include "config/overrides.hpp"

#include <algorithm>
#include <array>
#include <deque>

#include "config/tables.hpp"
#include "config/validate.hpp"

namespace k3d::config {
namespace {

constexpr std::string_view kFitTarget = "fit_target_mib";
constexpr std::array<std::string_view, 9> kKeys{"context",    "slots",     "batch",           "ubatch", kFitTarget,
                                                "cache_type", "cache_ram", "ctx_checkpoints", "threads"};
constexpr std::size_t kLongest = 256;

/// An override as the configuration would have it.
struct Written {
  std::string key;
  Node key_node, value;
};

std::unexpected<Error> refuse(std::string message, std::string hint) {
  return fail(Code::invalid_request, std::move(message), std::move(hint));
}

Status check_key(const Profile& profile, const std::string& key) {
  if (std::ranges::count(kKeys, key) == 0) {
    const std::vector<std::string> keys(kKeys.begin(), kKeys.end());
    return refuse("there is no override " + in_quotes(key), "allowed are " + joined(keys));
  }
  if (key == kFitTarget && profile.placement.mode != PlacementMode::fit) {
    return refuse("fit_target_mib: the placement of profile " + in_quotes(profile.name) + " is of another mode",
                  "fit_target_mib is allowed with placement mode fit");
  }
  return {};
}

Status no_mistakes(Reporter& reporter, const std::string& key) {
  const std::vector<Mistake> mistakes = reporter.take();
  if (mistakes.empty()) return {};
  const Mistake& first = mistakes.front();
  return refuse((first.path.empty() ? key : first.path) + ": " + first.what, {});
}

Result<Written> parse(const std::string& key, const std::string& text) {
  if (text.size() > kLongest) return refuse(key + ": the value is longer than 256 bytes", {});
  Reporter reporter;
  std::optional<Node> value = parse_document(text, reporter);
  if (Status good = no_mistakes(reporter, key); !good) return fail(good.error());
  if (value->kind == Node::Kind::map && value->keys.empty()) value->kind = Node::Kind::null;  // an empty document
  Written written{key, {}, std::move(*value)};
  written.key_node.text = key;
  return written;
}

template <class T>
Status apply(const Fields<T>& fields, const Written& written, T& target) {
  const auto field = std::ranges::find_if(fields, [&written](const auto& f) { return f.info.key == written.key; });
  Reporter reporter;
  const std::optional<Value> value = read(field->info.shape, written.value, written.key, reporter);
  if (value) field->apply(target, *value);
  return no_mistakes(reporter, written.key);
}

Status apply_to(Profile& profile, const Written& written) {
  if (written.key != kFitTarget) return apply(profile_fields(), written, profile);
  profile.placement.fit_target_mib.clear();
  return apply(placement_fields(PlacementMode::fit), written, profile.placement);
}

/// The rules between keys, with the overrides as what was written.
Status check_together(const Profile& profile, const std::deque<Written>& all) {
  Entries entries;
  for (const Written& written : all) {
    entries.list.push_back({written.key, &written.key_node, &written.value, written.key});
  }
  Reporter reporter;
  validate_sizes(profile, entries, reporter);
  return no_mistakes(reporter, "placement");
}

}  // namespace

Result<Profile> with_overrides(const Profile& profile, const Overrides& set) {
  Profile changed = profile;
  std::deque<Written> all;  // entries point into it
  for (const auto& [key, text] : set) {
    if (Status known = check_key(profile, key); !known) return fail(known.error());
    Result<Written> written = parse(key, text);
    if (!written) return fail(written.error());
    all.push_back(std::move(*written));
    if (Status applied = apply_to(changed, all.back()); !applied) return fail(applied.error());
  }
  if (Status good = check_together(changed, all); !good) return fail(good.error());
  return changed;
}

}  // namespace k3d::config
