// Who knows of what: the order of memory, as PTX promises it and no stronger.
//
// Each warp counts its time. A write is an epoch: a warp, its lane and its time. Who reads must
// know of the write, by a chain of barriers, releases and acquires; who writes must come after
// what was read and written there before. Whatever is not in order is a race, however the warps
// happened to be scheduled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cuda_double {

enum class Made : std::uint8_t { weakly, strongly, as_mbarrier };

struct Epoch {
  std::uint32_t clock = 0;
  std::uint16_t who = 0;  // a warp of the grid, or an mbarrier
  std::uint8_t lane = 0;
  Made made = Made::weakly;
};

using Clock = std::vector<std::uint32_t>;  // by `who`, then the host's memory: as of which copy

inline void join(Clock& mine, const Clock& other) {
  if (mine.size() < other.size()) mine.resize(other.size());
  const std::uint32_t* from = other.data();
  std::uint32_t* to = mine.data();
  for (std::size_t i = 0; i < other.size(); ++i) to[i] = std::max(to[i], from[i]);
}

struct Knowledge {
  Clock seen;                // writes that reads may rely on
  Clock past;                // what has happened before, whether or not its writes are seen
  std::vector<Epoch> lanes;  // of single lanes, where the rest of their warp is not yet known

  void join(const Knowledge& other) {
    cuda_double::join(seen, other.seen);
    cuda_double::join(past, other.past);
    lanes.insert(lanes.end(), other.lanes.begin(), other.lanes.end());
    const auto old = [this](const Epoch& e) { return e.clock <= seen[e.who]; };
    lanes.erase(std::remove_if(lanes.begin(), lanes.end(), old), lanes.end());
  }
  bool covers(const Epoch& epoch) const { return seen[epoch.who] >= epoch.clock || of_lane(epoch); }
  bool follows(const Epoch& epoch) const {
    return past[epoch.who] >= epoch.clock || of_lane(epoch);
  }

 private:
  bool of_lane(const Epoch& epoch) const {
    return std::any_of(lanes.begin(), lanes.end(), [&](const Epoch& e) {
      return e.who == epoch.who && e.lane == epoch.lane && e.clock >= epoch.clock;
    });
  }
};

}  // namespace cuda_double
