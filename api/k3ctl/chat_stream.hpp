// A streamed chat completion, event by event: what of it is answer, thought, figure or error. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace k3d::cli {

struct ChatDelta {
  std::string thought;  ///< reasoning_content
  std::string text;
  std::string error;                                ///< what the engine or the proxy says went wrong
  bool finished = false;                            ///< a finish_reason, or [DONE]
  std::optional<double> tokens, tokens_per_second;  ///< llama-server's timings, at the end
};

/// `data` is the data of one event. What is no JSON or has none of the fields is an empty delta.
ChatDelta chat_delta(std::string_view data);

/// The message of an OpenAI-shaped error {"error": {"message", "type", "code"}}, or the status and the first words.
std::string chat_error(unsigned status, std::string_view body);

/// Where a person here reaches the proxy: of `listen` ("host:port"), the loopback one if the daemon is asked on this
/// host, else the one with the daemon's own address; nothing if none fits.
std::optional<std::string> proxy_url(const std::vector<std::string>& listen, const std::string& daemon_host);

}  // namespace k3d::cli
