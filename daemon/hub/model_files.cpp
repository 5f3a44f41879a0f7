#include "daemon/hub/model_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "daemon/base/shard_name.hpp"

namespace k3d::hub {
namespace {

namespace fs = std::filesystem;

const std::string kNotThere = "is not there";
constexpr std::size_t kNamedFiles = 5;
constexpr std::uint32_t kOldestVersion = 2, kNewestVersion = 3;

/// Where a model is looked for: a folder that may hold its shards, and what would be mounted.
struct Place {
  fs::path folder;
  fs::path mount;
};

/// What is wrong with one file, in words; empty: nothing.
struct Checked {
  std::string complaint;
  Bytes size = 0;
  std::string identity;
};

/// Whether `file`, with every link followed, is still below `folder`.
bool stays_below(const fs::path& file, const fs::path& folder) {
  std::error_code ec;
  const fs::path real_folder = fs::canonical(folder, ec);
  const fs::path real_file = ec ? fs::path() : fs::canonical(file, ec);
  if (ec) return false;
  const auto [at, rest] = std::mismatch(real_folder.begin(), real_folder.end(), real_file.begin(), real_file.end());
  return at == real_folder.end();
}

std::string complaint_about_head(int fd) {
  std::array<unsigned char, 8> head{};
  const ssize_t n = ::pread(fd, head.data(), head.size(), 0);
  if (n < 0) return std::string("can't be read: ") + std::strerror(errno);
  if (n < 8 || std::memcmp(head.data(), "GGUF", 4) != 0) return "is no GGUF file";
  // Little-endian; a file of the other order shows as a huge number.
  std::uint32_t version = 0;
  for (std::size_t i = head.size(); i > 4; --i) version = version << 8U | head[i - 1];
  if (version >= kOldestVersion && version <= kNewestVersion) return {};
  return fmt::format("has version {} of GGUF, which the engine can't read", version);
}

Checked check(const fs::path& file, const fs::path& mount) {
  Checked checked;
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    checked.complaint = errno == ENOENT ? kNotThere : std::string("can't be opened: ") + std::strerror(errno);
    return checked;
  }
  struct stat st{};
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    checked.complaint = "is no regular file";
  } else if (st.st_size == 0) {
    checked.complaint = "is empty";
  } else if (!stays_below(file, mount)) {
    checked.complaint = "is a link that leads out of " + mount.string();
  } else {
    checked.complaint = complaint_about_head(fd);
    checked.size = static_cast<Bytes>(st.st_size);
    checked.identity =
        fmt::format("{} {} {}.{:09}\n", file.string(), st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
  }
  ::close(fd);
  return checked;
}

/// Which of the three it is that keeps a set from being used: damaged files count most, then a set with holes.
Code verdict(std::size_t absent, std::size_t damaged, std::size_t all) {
  if (damaged > 0) return Code::model_corrupt;
  return absent > 0 && absent < all ? Code::shard_missing : Code::files_missing;
}

std::unexpected<Error> missing(const std::string& what, const std::string& hint) {
  return fail(Code::files_missing, what, hint);
}

/// Every file of the set that `first` begins.
std::vector<fs::path> set_of(const fs::path& first) {
  const auto name = parse_shard_name(first.filename().string());
  if (!name) return {first};
  std::vector<fs::path> shards;
  for (int number = 1; number <= name->count; ++number) {
    shards.push_back(first.parent_path() / shard_name({name->prefix, number, name->count}));
  }
  return shards;
}

Result<ModelFiles> examine(const fs::path& first, const fs::path& mount, const std::string& hint) {
  ModelFiles files;
  files.first_shard = first;
  files.mount_folder = mount;
  files.shards = set_of(first);
  std::vector<std::string> complaints;
  std::size_t absent = 0;
  std::size_t damaged = 0;
  for (const fs::path& shard : files.shards) {
    Checked checked = check(shard, mount);
    absent += checked.complaint == kNotThere ? 1U : 0U;
    damaged += checked.size > 0 && !checked.complaint.empty() ? 1U : 0U;
    if (!checked.complaint.empty()) complaints.push_back(shard.filename().string() + " " + checked.complaint);
    files.total_bytes += checked.size;
    files.identity += checked.identity;
  }
  if (complaints.empty()) return files;
  std::string text;
  for (std::size_t i = 0; i < std::min(complaints.size(), kNamedFiles); ++i)
    text += (i > 0 ? ", " : "") + complaints[i];
  if (complaints.size() > kNamedFiles) text += fmt::format(", and {} more", complaints.size() - kNamedFiles);
  return fail(verdict(absent, damaged, files.shards.size()),
              fmt::format("{} of {} model files in {} can't be used: {}", complaints.size(), files.shards.size(),
                          first.parent_path().string(), text),
              hint);
}

// ---- models given by a path -----------------------------------------------------------------------------------------

Result<ModelFiles> find_by_path(const Model& model) {
  const fs::path file = model.path.lexically_normal();
  const auto name = parse_shard_name(file.filename().string());
  if (name && name->number != 1) {
    return fail(
        Code::not_first_shard,
        fmt::format("{} is shard {} of {}; an engine starts with the first", file.string(), name->number, name->count),
        fmt::format("write path: {} in model {}",
                    (file.parent_path() / shard_name({name->prefix, 1, name->count})).string(), model.name));
  }
  return examine(file, file.parent_path(),
                 "copy what is missing to " + file.parent_path().string() + ", or mend path of model " + model.name);
}

// ---- models of the hub ----------------------------------------------------------------------------------------------

std::string cache_folder_name(std::string repo) {
  const std::size_t slash = repo.find('/');
  if (slash != std::string::npos) repo.replace(slash, 1, "--");
  return "models--" + repo;
}

std::vector<Place> places_of(const Settings& settings, const Model& model, const std::string& quant) {
  std::vector<Place> places;
  if (!model.local.empty()) places.push_back({model.local / quant, model.local});
  const fs::path repository = settings.hub.cache / cache_folder_name(model.repo);
  places.push_back({repository / "snapshots" / model.revision / quant, repository});
  return places;
}

bool is_model_file(const fs::path& file) {
  return file.extension() == ".gguf" && !file.filename().string().starts_with("mmproj");
}

/// The first shards (and single files) among the GGUF files of `folder`; of a set without its first shard, the name
/// that this would have.
std::vector<fs::path> beginnings(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ec;
  for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec)) {
    if (!is_model_file(at->path())) continue;
    const auto name = parse_shard_name(at->path().filename().string());
    found.push_back(name ? folder / shard_name({name->prefix, 1, name->count}) : at->path());
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

fs::path find_mmproj(const std::string& name, const Place& place) {
  if (name.empty()) return {};
  const fs::path above = place.folder.parent_path();
  for (const fs::path& file : {place.folder / name, above / name}) {
    std::error_code ec;
    if (fs::exists(file, ec) && check(file, place.mount).complaint.empty()) return file;
  }
  return {};
}

Result<ModelFiles> find_by_repo(const Settings& settings, const Model& model, const std::string& quant) {
  const std::string hint = fmt::format("download {}/{} of revision {} into {}, or mend quant", model.repo, quant,
                                       model.revision, settings.hub.cache.string());
  std::string looked;
  for (const Place& place : places_of(settings, model, quant)) {
    const std::vector<fs::path> found = beginnings(place.folder);
    looked += (looked.empty() ? "" : " and ") + place.folder.string();
    if (found.empty()) continue;
    if (found.size() > 1) {
      return missing(fmt::format("{} holds more than one model: {} and {}", place.folder.string(),
                                 found[0].filename().string(), found[1].filename().string()),
                     "leave one of them there");
    }
    Result<ModelFiles> files = examine(found.front(), place.mount, hint);
    if (files) files->mmproj = find_mmproj(model.mmproj, place);
    return files;
  }
  return missing(fmt::format("there is no GGUF file of {} {}; looked in {}", model.repo, quant, looked), hint);
}

}  // namespace

Result<ModelFiles> find_model_files(const Settings& settings, const Profile& profile) {
  const auto model = settings.models.find(profile.model);
  if (model == settings.models.end()) {
    return missing("profile " + profile.name + " names no known model", "add model " + profile.model + " to models");
  }
  if (!model->second.path.empty()) return find_by_path(model->second);
  return find_by_repo(settings, model->second, profile.quant);
}

std::vector<fs::path> quant_folders(const Settings& settings, const Model& model, const std::string& quant) {
  std::vector<fs::path> folders;
  for (const Place& place : places_of(settings, model, quant)) folders.push_back(place.folder);
  return folders;
}

}  // namespace k3d::hub
