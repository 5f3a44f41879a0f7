// Works out the launch of a profile: files, image, what the image can do, devices, command line, labels.
// Everything comes from the configuration and this host, nothing from a request.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <string>

#include "daemon/base/async/task.hpp"
#include "daemon/lifecycle/journal.hpp"
#include "daemon/lifecycle/planned_start.hpp"
#include "daemon/model/engine_image.hpp"
#include "daemon/model/launch.hpp"
#include "daemon/model/settings.hpp"
#include "daemon/ports/containers.hpp"
#include "daemon/ports/host_probe.hpp"

namespace k3d::lifecycle {

class LaunchPlanner {
 public:
  /// `files` is where file systems are asked: they may block.
  LaunchPlanner(Containers& containers, HostProbe& host, GpuProbe& gpus, Journal& journal,
                std::shared_ptr<const Settings> settings, asio::thread_pool& files);

  void use(std::shared_ptr<const Settings> settings) { settings_ = std::move(settings); }

  /// Errors: files_missing, those of the plan (planned_start), image_missing, flag_missing, start_refused, and Docker's.
  Task<Result<Launch>> plan(Profile profile, std::uint64_t attempt, StartTerms terms);
  /// The plan alone, without Docker. Errors: files_missing, and the plan's.
  Task<Result<PlannedStart>> plan_start(Profile profile, StartTerms terms);

  /// The hash that the label k3d.spec of a launch of `profile` would have; empty if it can't be told now.
  static std::string spec_hash(const Profile& profile, const std::string& image_id, const std::string& files_identity);

 private:
  Task<Result<StartSubject>> look(std::shared_ptr<const Settings> settings, Profile profile);
  Result<Launch> assemble(const StartSubject& subject, const PlannedStart& start, const ImageInfo& image,
                          const EngineCapabilities& able, const std::vector<std::string>& cdi, std::uint64_t attempt);
  Task<Result<EngineCapabilities>> capabilities(ImageInfo image, std::string instance);
  Task<Result<EngineCapabilities>> ask_image(ImageInfo image, std::string instance);
  Task<Result<std::vector<std::string>>> devices(Gpus gpus, std::vector<std::string> uuids);
  EngineAddress address_of(const EngineCapabilities& able, const std::filesystem::path& folder);

  Containers& containers_;
  HostProbe& host_;
  Journal& journal_;
  std::shared_ptr<const Settings> settings_;
  asio::thread_pool& files_;
  StartPlanner starts_;
};

/// The label k3d.launch: what a later k3d needs to watch and talk to the engine, without secrets; and back.
std::string launch_label(const Launch& launch);
Result<Launch> launch_from_labels(const std::map<std::string, std::string>& labels);

}  // namespace k3d::lifecycle
