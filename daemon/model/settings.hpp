// What the configuration says, as plain values with every default filled in. Decoded by config/.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/error.hpp"
#include "daemon/base/units.hpp"
#include "daemon/model/quants.hpp"

namespace k3d {

struct ControlSettings {
  std::vector<std::string> listen{"unix:/run/k3d/control.sock", "127.0.0.1:7300"};
  std::string group;  ///< group of the unix socket; empty: the daemon's own
  std::filesystem::path token_file;
  std::filesystem::path read_token_file;  ///< empty: none
  std::vector<std::string> allowed_hosts;
};

enum class Expose { inference, all };

struct ProxySettings {
  std::vector<std::string> listen{"auto:8000"};
  Expose expose = Expose::inference;
  std::filesystem::path api_keys_file;  ///< empty: none
  Bytes max_body_bytes = 256 * kMiB;
  std::vector<std::string> cors_origins;
};

struct DockerSettings {
  std::string host = "unix:///var/run/docker.sock";
  std::filesystem::path tls_ca, tls_cert, tls_key;
};

struct HubSettings {
  std::string endpoint = "https://huggingface.co";
  std::filesystem::path cache = "/data/hf/hub";
  std::filesystem::path token_file;
  int connections = 8;
  std::filesystem::path ca_file;
};

enum class SourceKind { git, debian };

/// Where an engine image comes from.
struct Source {
  std::string name;
  SourceKind kind = SourceKind::git;
  std::string repo, ref, commit;
  bool vision = false;
  std::vector<std::string> patches;
  std::string cuda_architectures = "auto";

  friend bool operator==(const Source&, const Source&) = default;
};

/// A model of the hub (`repo`) or a file of this host (`path`); exactly one is set.
struct Model {
  std::string name;
  std::string repo, revision, mmproj, tokenizer;
  std::filesystem::path local;  ///< folder of quants made here, searched first; may be empty
  std::filesystem::path path;   ///< first shard

  friend bool operator==(const Model&, const Model&) = default;
};

enum class PlacementMode { fit, n_cpu_moe, override_tensors, pinned };

struct Placement {
  PlacementMode mode = PlacementMode::fit;
  std::vector<int> fit_target_mib;     ///< one for all or one per GPU; empty: auto
  std::optional<int> n_cpu_moe;        ///< in mode n_cpu_moe; nothing: auto, the fewest that fit
  std::vector<double> tensor_split;    ///< empty: auto
  std::vector<std::string> tensors;    ///< "REGEX=DEVICE", mode override_tensors

  friend bool operator==(const Placement&, const Placement&) = default;
};

enum class GpuChoice { all, none, listed };

struct Gpus {
  GpuChoice choice = GpuChoice::all;
  std::vector<std::string> listed;  ///< indexes or UUIDs

  friend bool operator==(const Gpus&, const Gpus&) = default;
};

/// How answers are drafted a few tokens ahead, for the model to check at once.
struct Speculative {
  std::string type;             ///< draft-dspark, ngram-mod, …: llama-server's word
  std::string model;            ///< one of models; empty for the ngram types
  std::string device = "last";  ///< last: the GPU that holds the output layer; an index, or a device's name
  int n_max = 7;                ///< tokens of a draft at most

  friend bool operator==(const Speculative&, const Speculative&) = default;
};

/// How a start is checked beforehand: by k3d's own plan, or by a dry run of the engine besides.
enum class Preflight { computed, exact };
enum class WhileLoading { reject, hold };
enum class OnFailure { rollback, stay_down };
enum class OnRequest { refuse, switch_over };

struct Profile {
  std::string name;
  std::string model, quant;
  std::string source;  ///< or
  std::string image;   ///< exactly one is set
  Gpus gpus;
  Placement placement;
  std::optional<Speculative> speculative;
  Preflight preflight = Preflight::computed;
  int context = 131072;  ///< tokens, total over the slots
  int slots = 8;
  std::optional<int> batch, ubatch;  ///< nothing: by placement
  std::map<std::string, std::string> env;
  std::vector<std::string> extra_args;
  std::vector<std::string> aliases;
  WhileLoading while_loading = WhileLoading::reject;
  seconds hold{300};
  OnRequest on_request = OnRequest::refuse;
  OnFailure on_failure = OnFailure::rollback;
  seconds drain{900};
  seconds stall{600};
  seconds min_residency{0};         ///< how long it stays at least before a request may switch away
  std::optional<seconds> idle_stop; ///< stop after so long without a request
  bool self_heal = false;           ///< apply a failure's remedy by itself, at most twice
  bool allow_unproven = false;
  std::string cache_type = "f16";
  std::optional<int> threads;          ///< nothing: physical cores
  std::optional<Bytes> cache_ram;      ///< nothing: by RAM
  std::optional<int> ctx_checkpoints;  ///< nothing: by RAM and slots

  friend bool operator==(const Profile&, const Profile&) = default;
};

enum class OnExit { leave, stop };

/// What to start once the host has booted.
struct Boot {
  enum class Choice { none, last, profile };
  Choice choice = Choice::none;
  std::string profile;  ///< with Choice::profile

  friend bool operator==(const Boot&, const Boot&) = default;
};

struct Settings {
  std::filesystem::path file;  ///< where it was read from
  std::string instance = "default";
  Boot boot;
  OnExit on_exit = OnExit::leave;
  seconds exit_drain{30};
  std::filesystem::path state = "/var/lib/k3d";
  ControlSettings control;
  ProxySettings proxy;
  DockerSettings docker;
  HubSettings hub;
  std::map<std::string, Source> sources;
  std::map<std::string, Model> models;
  QuantCatalogue quants;
  std::vector<Profile> profiles;  ///< in the order of the file

  [[nodiscard]] const Profile* find_profile(const std::string& name) const;
};

/// The tag an engine image has: `image`, or k3d-engine-SOURCE:COMMIT12, or k3d-engine-debian:latest.
std::string image_tag(const Settings& settings, const Profile& profile);

/// unknown_profile, with the names that there are.
Error unknown_profile(const Settings& settings, const std::string& name);

/// Whether `profile` answers to `name`: its own name, its model's key or one of its aliases.
bool answers_to(const Profile& profile, const std::string& name);

}  // namespace k3d
