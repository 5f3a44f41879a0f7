#include "daemon/adapters/nvml_library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>

#include "daemon/adapters/nvml_card.hpp"

namespace k3d::adapters {
namespace {

using nvml_api::kSuccess;

/// By PCI order, which is the order of nvidia-smi. NVML's own is the same; where a card no longer tells its place, it counts.
void put_in_order(std::vector<NvmlCard>& cards) {
  const bool placed = std::all_of(cards.begin(), cards.end(), [](const NvmlCard& card) { return card.placed; });
  if (placed) {
    std::sort(cards.begin(), cards.end(), [](const NvmlCard& a, const NvmlCard& b) { return a.place() < b.place(); });
  }
  int index = 0;
  for (NvmlCard& card : cards) card.facts.state.index = index++;
}

/// What GpuProbe tells: all of the cards, or why one can't be read.
Result<std::vector<GpuState>> states_of(const std::vector<NvmlCard>& cards) {
  std::vector<GpuState> gpus;
  for (const NvmlCard& card : cards) {
    if (card.error) return fail(*card.error);
    gpus.push_back(card.facts.state);
  }
  return gpus;
}

}  // namespace

NvmlLibrary::NvmlLibrary() {
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    missing_ = why == nullptr ? "there is no libnvidia-ml.so.1" : why;
    return;
  }
  auto calls = std::make_unique<nvml_api::Calls>();
  if (const std::string lacking = calls->load(library); !lacking.empty()) {
    missing_ = "libnvidia-ml.so.1 is too old: it lacks " + lacking;
    return;
  }
  calls_ = std::move(calls);
}

NvmlLibrary::~NvmlLibrary() { close(); }

NvmlReading NvmlLibrary::read(Depth depth) {
  NvmlReading reading;
  if (!calls_) {
    reading.no_driver = missing_;
    return reading;
  }
  if (!open_) {
    const int status = calls_->init();
    if (status == nvml_api::kDriverNotLoaded) {
      reading.no_driver = calls_->words(status);
      return reading;
    }
    if (status != kSuccess) {
      reading.gpus = calls_->refused("anything", status);
      return reading;
    }
    open_ = true;
  }
  read_cards(depth, reading);
  if (!reading.gpus) close();
  return reading;
}

void NvmlLibrary::read_cards(Depth depth, NvmlReading& reading) {
  unsigned number = 0;
  if (const int s = calls_->count(&number); s != kSuccess) {
    reading.gpus = calls_->refused("how many GPUs there are", s);
    return;
  }
  if (!std::exchange(listens_, true)) listener_.begin(*calls_, number);
  std::vector<NvmlCard> cards;
  for (unsigned i = 0; i < number; ++i) {
    cards.push_back(read_card(*calls_, i));
    if (depth == Depth::thorough) read_details(*calls_, i, cards.back());
    if (cards.back().error && depth == Depth::figures) break;
  }
  put_in_order(cards);
  reading.gpus = states_of(cards);
  if (depth == Depth::thorough) reading.report = report_on(cards);
}

GpuReport NvmlLibrary::report_on(const std::vector<NvmlCard>& cards) {
  GpuReport report;
  std::array<char, 96> version{};
  if (calls_->driver_version && calls_->driver_version(version.data(), version.size() - 1) == kSuccess) {
    report.driver_version = version.data();
  }
  listener_.take(*calls_);
  report.xids_heard = listener_.hears();
  for (const NvmlCard& card : cards) {
    report.gpus.push_back(card.facts);
    report.gpus.back().xids = listener_.of(card.facts.state.uuid);
  }
  return report;
}

void NvmlLibrary::close() {
  if (!open_) return;
  listener_.end(*calls_);
  listens_ = false;
  calls_->shutdown();
  open_ = false;
}

}  // namespace k3d::adapters
