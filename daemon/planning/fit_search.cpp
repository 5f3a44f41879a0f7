#include "daemon/planning/fit_search.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace k3d::planning {
namespace {

/// Parts that leave a split layer's own device, by the pattern that the engine uses for the fraction.
unsigned overflowing(Fraction fraction) {
  switch (fraction) {
    case Fraction::attention:
      return kExperts | kGate | kUp | kGateUp | kDown;
    case Fraction::up:
      return kGateExperts | kGateUpExperts | kDownExperts | kGate | kGateUp | kDown;
    case Fraction::gate:
      return kDownExperts | kDown;
    case Fraction::all_but_experts:
      return kExperts;
  }
  return 0;
}

using Fills = std::vector<DeviceFill>;
using Used = std::vector<std::int64_t>;

class Search {
 public:
  Search(const MemoryModel& model, const std::vector<Bytes>& free, const std::vector<Bytes>& margins, Offload offload)
      : model_(model),
        all_(model.architecture().layers + 1),
        moe_(model.architecture().experts > 0),
        offload_(offload == Offload::counted) {
    for (std::size_t i = 0; i < free.size(); ++i) {
      targets_.push_back(static_cast<std::int64_t>(free[i]) - static_cast<std::int64_t>(margins[i]));
    }
    fills_.resize(free.size());
    used_ = used(fills_);
  }

  /// Fits as the engine splits the model by itself.
  bool fits(const Placed& placed) const {
    const ModelUse use = model_.use(placed);
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      if (static_cast<std::int64_t>(use.devices[i].total()) > targets_[i]) return false;
    }
    return true;
  }

  bool dense_fits(const Placed& unchanged) const {
    Placed dense = unchanged;
    for (int il = 0; il < all_ - 1; ++il) dense.moves.push_back(model_.move_of(il, kExperts, kHost));
    const ModelUse use = model_.use(dense);
    std::int64_t surplus = 0;
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      surplus += targets_[i] - static_cast<std::int64_t>(use.devices[i].total());
    }
    return surplus > 0;
  }

  void fill_dense() {
    for (std::size_t id = fills_.size(); id-- > 0;) fill_dense(id);
  }

  void convert_to_full() {
    dense_start_ = fills_.size();
    while (dense_start_ > 0 && fills_[dense_start_ - 1].layers > 0) --dense_start_;
    if (dense_start_ >= fills_.size()) return;
    for (std::size_t id = 0; id <= dense_start_ && dense_start_ < fills_.size(); ++id) {
      convert(id);
      split_one_more(id);
    }
  }

  [[nodiscard]] FitOutcome outcome() const { return {false, fills_, placed(fills_)}; }

 private:
  bool last(std::size_t id) const { return id + 1 == fills_.size(); }

  Placed placed(const Fills& fills) const {
    std::vector<double> split;
    for (const DeviceFill& fill : fills) split.push_back(fill.layers);
    const int total = static_cast<int>(std::accumulate(split.begin(), split.end(), 0.0));
    Placed result{layer_devices(all_ - 1, total, split), {}, false, offload_};
    int at = all_ - total;
    for (const DeviceFill& fill : fills) {
      at += fill.full();
      for (int il = at; il < at + fill.partial; ++il) {
        result.overrides = true;
        if (il >= all_ - 1) continue;  // the output has no such tensors
        const bool first = il == at;
        const Fraction fraction = first ? fill.fraction : Fraction::all_but_experts;
        result.moves.push_back(model_.move_of(il, overflowing(fraction), first ? fill.overflow : kHost));
      }
      at += fill.partial;
    }
    return result;
  }

  Used used(const Fills& fills) const {
    const ModelUse use = model_.use(placed(fills));
    Used bytes;
    for (const MemoryUse& device : use.devices) bytes.push_back(static_cast<std::int64_t>(device.total()));
    return bytes;
  }

  /// False position between what fits and what doesn't: how many layers to add to `low`.
  int step(std::size_t id, int delta, const Used& high) const {
    const std::int64_t rise = high[id] - used_[id];
    const std::int64_t guess = rise > 0 ? delta * (targets_[id] - used_[id]) / rise : delta - 1;
    return static_cast<int>(std::min<std::int64_t>(std::max<std::int64_t>(guess, 1), delta - 1));
  }

  void fill_dense(std::size_t id) {
    int unassigned = all_;
    for (std::size_t later = id + 1; later < fills_.size(); ++later) unassigned -= fills_[later].layers;
    Fills high = fills_;
    high[id].layers = unassigned;
    if (moe_) high[id].partial = last(id) ? unassigned - 1 : unassigned;
    if (unassigned == 0) return;
    Used high_used = used(high);
    if (high_used[id] <= targets_[id]) {
      fills_ = high;
      used_ = high_used;
      return;
    }
    for (int delta = unassigned - fills_[id].layers; delta > 1; delta = high[id].layers - fills_[id].layers) {
      const int more = step(id, delta, high_used);
      Fills test = fills_;
      test[id].layers += more;
      // The first layer counted on the last device is the output, which is never partial.
      if (moe_) test[id].partial += last(id) && test[id].partial == 0 ? more - 1 : more;
      keep_or_bound(id, test, high, high_used);
    }
  }

  void keep_or_bound(std::size_t id, const Fills& test, Fills& high, Used& high_used) {
    const Used test_used = used(test);
    if (test_used[id] <= targets_[id]) {
      fills_ = test;
      used_ = test_used;
    } else {
      high = test;
      high_used = test_used;
    }
  }

  /// All dense-only layers become full layers of `id`.
  Fills everything_on(std::size_t id) const {
    Fills high = fills_;
    for (std::size_t from = dense_start_; from < high.size(); ++from) {
      const int moved = last(from) ? high[from].layers - 1 : high[from].layers;
      high[id].layers += moved;
      high[from].layers -= moved;
      high[from].partial = 0;
    }
    return high;
  }

  /// `count` dense-only layers, from the front, become full layers of `id`; returns where dense-only ones begin then.
  std::size_t take(std::size_t id, int count, Fills& fills) const {
    std::size_t start = dense_start_;
    for (int taken = 0; start < fills.size(); ++start) {
      const int now = std::min(count - taken, fills[start].partial);
      fills[start].layers -= now;
      fills[start].partial -= now;
      fills[id].layers += now;
      taken += now;
      if (fills[start].partial > 0) break;
    }
    return start;
  }

  void convert(std::size_t id) {
    Fills high = everything_on(id);
    Used high_used = used(high);
    if (high_used[id] <= targets_[id]) {
      fills_ = high;
      used_ = high_used;
      dense_start_ = fills_.size() - 1;
      return;
    }
    for (int delta = high[id].full() - fills_[id].full(); delta > 1; delta = high[id].full() - fills_[id].full()) {
      Fills test = fills_;
      const std::size_t start = take(id, step(id, delta, high_used), test);
      const Used test_used = used(test);
      if (test_used[id] <= targets_[id]) {
        fills_ = test;
        used_ = test_used;
        dense_start_ = start;
      } else {
        high = test;
        high_used = test_used;
      }
    }
  }

  /// One more layer, of which only a part fits: up and gate if they do, else attention alone.
  void split_one_more(std::size_t id) {
    if (dense_start_ >= fills_.size() || fills_[dense_start_].layers <= (last(id) ? 1 : 0)) return;
    Fills test = fills_;
    std::size_t start = dense_start_;
    --test[start].layers;
    --test[start].partial;
    ++test[id].layers;
    ++test[id].partial;
    if (test[start].partial == 0) ++start;
    test[id].overflow = last(id) ? kHost : static_cast<int>(id) + 1;
    if (!keep_split(id, test, start, Fraction::up)) {
      keep_split(id, test, start, Fraction::attention);
    } else {
      keep_split(id, test, start, Fraction::gate);
    }
  }

  bool keep_split(std::size_t id, Fills test, std::size_t start, Fraction fraction) {
    test[id].fraction = fraction;
    const Used test_used = used(test);
    if (test_used[id] >= targets_[id] || (!last(id) && test_used[id + 1] >= targets_[id + 1])) return false;
    fills_ = std::move(test);
    used_ = test_used;
    dense_start_ = start;
    return true;
  }

  const MemoryModel& model_;
  int all_;  ///< layers and the output
  bool moe_, offload_;
  Used targets_;
  Fills fills_;
  Used used_;
  std::size_t dense_start_ = 0;
};

}  // namespace

FitOutcome search_fit(const MemoryModel& model, const std::vector<Bytes>& free, const std::vector<Bytes>& margins,
                      Offload offload) {
  const int layers = model.architecture().layers;
  const std::vector<double> split(free.begin(), free.end());
  const Placed unchanged{layer_devices(layers, layers + 1, split), {}, false, offload == Offload::counted};
  Search search(model, free, margins, offload);
  if (search.fits(unchanged)) return {true, {}, Placed{unchanged.layer_device, {}, false, true}};
  const bool dense_fits = model.architecture().experts > 0 && search.dense_fits(unchanged);
  search.fill_dense();
  if (dense_fits) search.convert_to_full();
  FitOutcome outcome = search.outcome();
  outcome.placed.offload = true;
  return outcome;
}

}  // namespace k3d::planning
