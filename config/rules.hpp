// Rules of single texts: each says what is wrong ("is relative"), to follow the quoted text, or nothing.
#pragma once

#include <string>
#include <string_view>

namespace k3d::config::rules {

std::string name(std::string_view text);          ///< is_name
std::string profile_name(std::string_view text);  ///< a name that boot: gives no other meaning
std::string repo_id(std::string_view text);
std::string commit(std::string_view text);
std::string path(std::string_view text);        ///< absolute, without "..", no control characters
std::string state_path(std::string_view text);  ///< a path short enough for the sockets below it
std::string model_path(std::string_view text);  ///< a path whose name isn't a later shard's
std::string gguf_name(std::string_view text);
std::string alias(std::string_view text);
std::string image(std::string_view text);
std::string git_url(std::string_view text);
std::string git_ref(std::string_view text);
std::string cuda_architectures(std::string_view text);
std::string gpu_uuid(std::string_view text);
std::string tensor_override(std::string_view text);
std::string env_name(std::string_view text);
std::string one_line(std::string_view text);  ///< no control characters, at most 4096 bytes
std::string extra_arg(std::string_view text);
std::string group(std::string_view text);
std::string host_name(std::string_view text);
std::string origin(std::string_view text);  ///< scheme://host[:port], or *
std::string listen(std::string_view text);
std::string docker_host(std::string_view text);
std::string hub_endpoint(std::string_view text);
std::string device(std::string_view text);

/// Whether a URL of `docker_host` leads to another host.
bool leaves_this_host(std::string_view url);

}  // namespace k3d::config::rules
