#include "api/k3ctl/status_view.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "api/k3ctl/override_words.hpp"
#include "api/k3ctl/present.hpp"
#include "api/k3ctl/safe_text.hpp"
#include "daemon/base/json.hpp"

namespace k3d::cli {
namespace {

std::string text_of(const Json& object, std::string_view key) {
  return safe_text(json_text(object, key));
}

std::optional<double> number_of(const Json& object, std::string_view key) {
  const Json& member = json_member(object, key);
  if (!member.is_number()) return std::nullopt;
  return member.get<double>();
}

Bytes bytes_of(const Json& object, std::string_view key) {
  const Json& member = json_member(object, key);
  return member.is_number_unsigned() ? member.get<Bytes>() : 0;
}

std::string row(std::string_view name, const std::string& value) {
  return value.empty() ? std::string() : fmt::format("{:<10} {}\n", name, value);
}

std::string phase_text(const Json& status, WallTime now) {
  std::string out = text_of(status, "phase");
  const Result<WallTime> since = parse_time(json_text(status, "phase_since"));
  if (since) out += " for " + duration_between(*since, now);
  return out;
}

std::string load_text(const Json& status) {
  const std::string phase = text_of(status, "phase");
  if (phase != "loading" && phase != "probing" && phase != "starting") return {};
  const Json& load = json_member(status, "load");
  if (bytes_of(load, "total_bytes") == 0) return {};
  std::string out =
      fmt::format("{} %  {} of {}", static_cast<int>(std::floor(number_of(load, "fraction").value_or(0) * 100)),
                  format_bytes(bytes_of(load, "done_bytes")), format_bytes(bytes_of(load, "total_bytes")));
  if (const auto eta = number_of(load, "eta_seconds")) out += "  " + duration_text(*eta) + " left";
  return out;
}

std::string attempt_text(const Json& backoff) {
  const auto limit = json_int(backoff, "limit").value_or(0);
  const std::string of = limit > 0 ? fmt::format(" of {}", limit) : "";  // no limit while Docker is waited for
  return fmt::format("attempt {}{}", json_int(backoff, "attempt").value_or(0), of);
}

std::string backoff_text(const Json& backoff, WallTime now) {
  if (!backoff.is_object()) return {};
  const Result<WallTime> retry = parse_time(json_text(backoff, "retry_at"));
  if (!retry) return attempt_text(backoff);
  return attempt_text(backoff) + (*retry > now ? ", retry in " + duration_between(now, *retry) : ", retry now");
}

std::string holder_text(const Json& status) {
  const std::string id = text_of(status, "held_by");
  return id.empty() ? id : "the GPUs, by operation " + id + "; k3ctl ops " + id + " tells more";
}

std::string engine_rows(const Json& engine) {
  if (!engine.is_object()) return {};
  std::string what =
      text_of(engine, "container_name") + ", attempt " + std::to_string(json_int(engine, "attempt").value_or(0));
  if (const auto restarts = json_int(engine, "restarts").value_or(0); restarts > 0) {
    what += fmt::format(", started again {} time{}", restarts, restarts == 1 ? "" : "s");
  }
  if (json_bool(engine, "adopted").value_or(false)) what += ", adopted";
  if (!json_bool(engine, "spec_matches").value_or(true)) what += ", not as configured now";
  std::string out = row("engine", what) + row("image", text_of(engine, "image"));
  if (const auto ready = json_string(engine, "ready_at")) out += row("ready at", safe_text(local_time(*ready)));
  return out;
}

/// "llama-server 120.0 GB (ours)", or the pid where the name is hidden.
std::string gpu_process_text(const Json& process) {
  std::string out = text_of(process, "name");
  if (out.empty()) out = "pid " + std::to_string(json_int(process, "pid").value_or(0));
  if (const Bytes held = bytes_of(process, "memory_bytes"); held > 0) out += " " + format_bytes(held);
  if (json_bool(process, "ours").value_or(false)) out += " (ours)";
  return out;
}

std::string gpu_text(const Json& gpu) {
  std::string out = fmt::format("{}  {} of {}", text_of(gpu, "name"), format_bytes(bytes_of(gpu, "memory_used_bytes")),
                                format_bytes(bytes_of(gpu, "memory_total_bytes")));
  if (const auto busy = json_int(gpu, "utilization_percent")) out += fmt::format("  {} % busy", *busy);
  const Json& processes = json_member(gpu, "processes");
  if (!processes.is_array()) return out;
  const char* before = "  ";
  for (const Json& process : processes) out += std::exchange(before, ", ") + gpu_process_text(process);
  return out;
}

std::string gpu_rows(const Json& gpus) {
  std::string out;
  if (!gpus.is_array()) return out;
  for (const Json& gpu : gpus) out += row(fmt::format("gpu {}", json_int(gpu, "index").value_or(0)), gpu_text(gpu));
  return out;
}

std::string proxy_text(const Json& proxy) {
  std::string out;
  const Json& listen = json_member(proxy, "listen");
  if (listen.is_array()) {
    for (const Json& address : listen) {
      if (address.is_string()) out += (out.empty() ? "" : ", ") + safe_text(address.get<std::string>());
    }
  }
  if (out.empty()) return "not listening";
  out += fmt::format("; {} in flight", json_int(proxy, "in_flight").value_or(0));
  const auto queued = json_int(proxy, "queued").value_or(0);
  if (queued > 0) out += fmt::format(", {} waiting", queued);
  if (const auto oldest = number_of(proxy, "oldest_wait_seconds")) out += " (" + duration_text(*oldest) + ")";
  return out;
}

std::string operation_rows(const Json& operations) {
  std::string out;
  if (!operations.is_array()) return out;
  for (const Json& operation : operations) {
    const std::string state = text_of(operation, "state");
    if (state != "running" && state != "queued") continue;
    out += row("operation", text_of(operation, "id") + " " + text_of(operation, "kind") + ", " + state);
  }
  return out;
}

/// A block of its own: what is wrong, and what to do.
std::string trouble(const std::string& head, const Json& object) {
  std::string out = "\n" + head + "\n";
  if (const std::string detail = text_of(object, "detail"); !detail.empty()) out += "  " + detail + "\n";
  if (const std::string advice = text_of(object, "advice"); !advice.empty()) out += "  -> " + advice + "\n";
  return out;
}

std::string condition_blocks(const Json& conditions) {
  std::string out;
  if (!conditions.is_array()) return out;
  for (const Json& condition : conditions) {
    std::string title = text_of(condition, "title");
    if (title.empty()) title = text_of(condition, "code");
    out += trouble(text_of(condition, "severity") + ": " + title, condition);
  }
  return out;
}

/// The change of settings that avoids it, as the line to type.
std::string remedy_lines(const Json& failure) {
  const Json& remedy = json_member(failure, "remedy");
  if (!remedy.is_object()) return {};
  std::string out = "  remedy: " + text_of(remedy, "text") + "\n";
  std::vector<std::string> words = override_words(json_member(remedy, "set"));
  const std::string profile = json_text(failure, "profile");
  if (words.empty() || profile.empty()) return out;
  words.insert(words.begin(), {"k3ctl", "override", profile});
  return out + "  -> " + safe_text(shell_line(words) + " && " + shell_line({"k3ctl", "up", profile})) + "\n";
}

std::string failure_block(const Json& failure) {
  if (!failure.is_object()) return {};
  std::string head = "last failure: " + text_of(failure, "title") + " [" + text_of(failure, "code") + "]";
  if (const std::string profile = text_of(failure, "profile"); !profile.empty()) head += " of " + profile;
  if (const auto at = json_string(failure, "at")) head += ", " + safe_text(local_time(*at));
  std::string out = trouble(head, failure) + remedy_lines(failure);
  const Json& lines = json_member(failure, "log_excerpt");
  if (lines.is_array()) {
    for (const Json& line : lines) {
      if (line.is_string()) out += "  | " + safe_text(line.get<std::string>()) + "\n";
    }
  }
  return out;
}

}  // namespace

std::string status_page(const Json& status, WallTime now) {
  const std::string active = text_of(status, "active_profile");
  const std::string target = text_of(status, "target_profile");
  std::string out = "k3d " + text_of(status, "version") + ", instance " + text_of(status, "instance") + "\n\n";
  out += row("phase", phase_text(status, now));
  out += row("active", active.empty() ? "none" : active);
  if (target != active) out += row("target", target.empty() ? "none" : target);
  out += row("backoff", backoff_text(json_member(status, "backoff"), now));
  out += row("load", load_text(status));
  out += engine_rows(json_member(status, "engine"));
  out += gpu_rows(json_member(status, "gpus"));
  out += row("held", holder_text(status));
  out += row("proxy", proxy_text(json_member(status, "proxy")));
  out += operation_rows(json_member(status, "operations"));
  out += condition_blocks(json_member(status, "conditions"));
  out += failure_block(json_member(status, "last_failure"));
  return out;
}

std::string status_line(const Json& status) {
  std::string out = text_of(status, "phase");
  const std::string active = text_of(status, "active_profile");
  const std::string target = text_of(status, "target_profile");
  if (!active.empty()) out += ", active " + active;
  if (!target.empty() && target != active) out += ", target " + target;
  if (const Json& backoff = json_member(status, "backoff"); backoff.is_object()) out += ", " + attempt_text(backoff);
  if (const std::string load = load_text(status); !load.empty()) out += ", " + load;
  return out;
}

}  // namespace k3d::cli
