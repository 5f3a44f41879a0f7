// The file: who may change it, and its mistakes as one error.
#include "config/load.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "daemon/base/files.hpp"

namespace k3d::config {
namespace {

/// Whoever can write this file decides what runs as root's Docker client, so it must be root's or ours alone.
Status check_owner(const std::filesystem::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) {
    const Error error = file_error("look at", file, errno);
    return fail(Code::config_invalid, "cannot read the configuration", "name another file with --config", error.text());
  }
  if (!S_ISREG(info.st_mode)) return fail(Code::config_invalid, file.string() + " is no file");
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) {
    return fail(Code::config_invalid,
                file.string() + " belongs to user " + std::to_string(info.st_uid) + "; allowed: root, or user " +
                    std::to_string(::geteuid()) + ", as whom k3d runs",
                "chown root " + file.string());
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(Code::config_invalid, file.string() + " can be written by its group or by others",
                "chmod go-w " + file.string());
  }
  return {};
}

}  // namespace

Result<std::string> read_trusted(const std::filesystem::path& file, Bytes limit) {
  if (const Status owner = check_owner(file); !owner) return std::unexpected(owner.error());
  Result<std::string> text = read_file(file, limit);
  if (!text) return fail(Code::config_invalid, "cannot read the configuration", "", text.error().text());
  return text;
}

Result<Settings> decode_whole(std::string_view text, const std::filesystem::path& file) {
  Decoded decoded = decode(text, file);
  if (decoded.mistakes.empty()) return std::move(decoded.settings);
  std::string lines;
  for (const Mistake& mistake : decoded.mistakes) {
    if (!lines.empty()) lines += '\n';
    lines += describe(file, mistake);
  }
  return fail(Code::config_invalid, std::move(lines));
}

Result<Settings> load(const std::filesystem::path& file) {
  const Result<std::string> text = read_trusted(file);
  if (!text) return std::unexpected(text.error());
  return decode_whole(*text, file);
}

}  // namespace k3d::config
