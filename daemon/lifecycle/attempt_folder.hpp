// The folder of an attempt: engine.sock, engine.log, key. Made before a start, the last five kept.
// The engine appends to engine.log by itself; k3d reads it and bounds what it takes on disk.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "daemon/base/result.hpp"
#include "daemon/base/units.hpp"

namespace k3d::lifecycle {

/// STATE/attempts/N.
std::filesystem::path attempt_folder(const std::filesystem::path& state, std::uint64_t attempt);

/// Makes the folder and an empty log, keeps `key` (if any) in a file of its own, and removes a socket file that an
/// engine left: it outlives every stop.
Status prepare_folder(const std::filesystem::path& folder, const std::string& key);

/// The key kept there; empty if there is none.
std::string kept_key(const std::filesystem::path& folder);

/// The attempts that have a folder, newest first.
std::vector<std::uint64_t> kept_attempts(const std::filesystem::path& state);

/// Removes all but the newest `keep` folders; never that of `running`.
void prune_folders(const std::filesystem::path& state, std::size_t keep, std::uint64_t running);

/// The last `lines` lines, read from the last 256 KiB at most. Empty if there is no log.
std::vector<std::string> log_tail(const std::filesystem::path& log, std::size_t lines);

/// How far the log has grown since its beginning, in bytes; 0 if there is none.
Bytes log_length(const std::filesystem::path& log);

/// At most `most` bytes of the log from `offset` on; empty at its end.
std::string log_piece(const std::filesystem::path& log, Bytes offset, Bytes most);

/// For a log that comes through Docker: adds `line` and a newline.
void append_line(const std::filesystem::path& log, std::string line);

/// Gives back the disk space of everything but the newest half of `limit` once the log takes more than `limit`.
/// Offsets stay: the engine goes on appending, readers go on where they were.
void bound_log(const std::filesystem::path& log, Bytes limit);

}  // namespace k3d::lifecycle
