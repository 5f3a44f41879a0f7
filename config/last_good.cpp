#include "config/last_good.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "config/load.hpp"
#include "daemon/base/files.hpp"
#include "daemon/base/json.hpp"

namespace k3d::config {
namespace {

constexpr Bytes kLargestCopy = kMiB + 16 * kKiB;  // a configuration and its header
constexpr std::size_t kMostStates = 4;

/// First line of a copy. The file's name as JSON can't break out of it.
std::string header(const std::filesystem::path& file) {
  const std::string name = dump_json(Json(std::filesystem::absolute(file).lexically_normal().string()));
  return "# Kept by k3d: the last good text of " + name + ". Changes here are lost.\n";
}

std::filesystem::path copy_in(const std::filesystem::path& folder) {
  return folder / "last-good.yaml";
}

Result<Settings> load_copy(const std::filesystem::path& file, const std::filesystem::path& folder) {
  const Result<std::string> text = read_trusted(copy_in(folder), kLargestCopy);
  if (!text) return fail(text.error());
  const std::string wanted = header(file);
  if (!text->starts_with(wanted)) return fail(Code::not_found, "the copy is of another file");
  return decode_whole(std::string_view(*text).substr(wanted.size()), file);
}

void add(std::vector<std::filesystem::path>& folders, const std::filesystem::path& folder) {
  if (folder.is_absolute() && std::ranges::count(folders, folder) == 0) folders.push_back(folder);
}

/// Every `state:` that the text has at its top level. A text that is no YAML any more may still have that line.
void add_states(std::vector<std::filesystem::path>& folders, const std::string& text,
                const std::filesystem::path& file) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && folders.size() < kMostStates;) {
    if (!line.starts_with("state:")) continue;
    const Decoded alone = decode(line, file);
    if (alone.mistakes.empty()) add(folders, alone.settings.state);
  }
  add(folders, decode(text, file).settings.state);
}

}  // namespace

Status keep_last_good(const std::filesystem::path& state, const std::filesystem::path& file) {
  const Result<std::string> text = read_trusted(file);
  if (!text) return fail(text.error());
  if (const Result<Settings> settings = decode_whole(*text, file); !settings) return fail(settings.error());
  if (Status made = make_folder(state); !made) return made;
  return write_file(copy_in(state), header(file) + *text, 0600);
}

Result<Settings> load_last_good(const std::filesystem::path& file, const std::vector<std::filesystem::path>& folders) {
  for (const std::filesystem::path& folder : folders) {
    Result<Settings> settings = load_copy(file, folder);
    if (settings) return settings;
  }
  return fail(Code::not_found, "no good configuration of " + file.string() + " was kept");
}

std::vector<std::filesystem::path> last_good_folders(const std::filesystem::path& file) {
  std::vector<std::filesystem::path> folders;
  if (const Result<std::string> text = read_file(file, kMiB)) add_states(folders, *text, file);
  const char* given = std::getenv("STATE_DIRECTORY");
  std::istringstream given_folders(given == nullptr ? "" : given);
  for (std::string folder; std::getline(given_folders, folder, ':');) add(folders, folder);
  add(folders, Settings{}.state);
  return folders;
}

Result<Usable> load_usable(const std::filesystem::path& file) {
  Result<Settings> settings = load(file);
  if (settings) return Usable{std::move(*settings), {}};
  Result<Settings> kept = load_last_good(file, last_good_folders(file));
  if (!kept) return fail(settings.error());
  return Usable{std::move(*kept), settings.error().text()};
}

}  // namespace k3d::config
