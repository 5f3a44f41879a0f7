#include "daemon/adapters/nvml_listener.hpp"

#include <array>

namespace k3d::adapters {

using nvml_api::kSuccess;

void NvmlListener::begin(const nvml_api::Calls& calls, unsigned cards) {
  cards_.clear();
  set_ = nullptr;
  const bool can = calls.event_set && calls.event_set_free && calls.listen && calls.next_event;
  if (!can || calls.event_set(&set_) != kSuccess) return;
  for (unsigned i = 0; i < cards; ++i) {
    nvml_api::Device card = nullptr;
    std::array<char, 96> uuid{};
    if (calls.device(i, &card) != kSuccess) continue;
    if (calls.uuid(card, uuid.data(), uuid.size() - 1) != kSuccess) continue;
    if (calls.listen(card, nvml_api::kXid, set_) == kSuccess) cards_[card] = uuid.data();
  }
}

void NvmlListener::end(const nvml_api::Calls& calls) {
  if (set_ == nullptr) return;
  take(calls);
  calls.event_set_free(set_);
  set_ = nullptr;
  cards_.clear();
}

void NvmlListener::take(const nvml_api::Calls& calls) {
  constexpr int kMost = 1000;  // a card in trouble may tell of nothing else for a while
  nvml_api::EventData event{};
  for (int i = 0; hears() && i < kMost && calls.next_event(set_, &event, 0) == kSuccess; ++i) {
    const auto card = cards_.find(event.device);
    if (card != cards_.end() && event.type == nvml_api::kXid) heard_[card->second].insert(static_cast<unsigned>(event.data));
  }
}

std::vector<unsigned> NvmlListener::of(const std::string& uuid) const {
  const auto heard = heard_.find(uuid);
  if (heard == heard_.end()) return {};
  return {heard->second.begin(), heard->second.end()};
}

}  // namespace k3d::adapters
