// How lanes, warps and blocks wait for each other, and what they learn by it.
#include <cstring>

#include "grid.hpp"

namespace cuda_double {
namespace {

unsigned first_of(unsigned mask) { return unsigned(__builtin_ctz(mask)); }

/// The lane that `lane` takes its value from, by PTX's rules for shfl.sync; 32 for its own.
unsigned source_of(unsigned kind, unsigned lane, unsigned by, unsigned clamp) {
  const unsigned segment = clamp >> 8 & 31, bound = clamp & 31;
  const int last = int((lane & segment) | (bound & ~segment));
  int from = 0;
  switch (kind) {
    case kUp:
      from = int(lane) - int(by & 31);
      return from >= last ? unsigned(from) : 32;
    case kDown:
      from = int(lane + (by & 31));
      break;
    case kButterfly:
      from = int(lane ^ (by & 31));
      break;
    default:
      from = int((lane & segment) | (by & 31 & ~segment));
  }
  return from <= last ? unsigned(from) : 32;
}

/// The lanes that an instruction names must be there, and all of them.
bool gathered(Warp& w, unsigned named, const Instruction& i) {
  if ((named & ~w.flow.live) != 0 && named != ~0u) w.fail("it names lanes that have ended", i);
  return w.gather(named & w.flow.live, i);
}

}  // namespace

// lanes -------------------------------------------------------------------------------------------

void shuffle(Warp& w, const Instruction& i) {
  if (!gathered(w, w.lanes<std::uint32_t>(i.at[5])[first_of(w.mask)], i)) return;
  std::uint32_t values[32];
  std::memcpy(values, w.lanes<std::uint32_t>(i.at[2]), sizeof values);
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(w.mask >> lane & 1)) continue;
    const unsigned from = source_of(i.kind, lane, w.lanes<std::uint32_t>(i.at[3])[lane],
                                    w.lanes<std::uint32_t>(i.at[4])[lane]);
    const unsigned source = from < 32 ? from : lane;
    const bool there = w.mask >> source & 1;
    w.lanes<std::uint32_t>(i.at[0])[lane] = there ? values[source] : ~0u;  // NaN
    w.lanes<std::uint32_t>(i.at[1])[lane] = from < 32;
  }
}

void vote(Warp& w, const Instruction& i) {
  std::uint32_t* const result = w.lanes<std::uint32_t>(i.at[0]);
  unsigned yes = 0;
  if (i.kind == kActive) {
    yes = w.mask;
  } else {
    if (!gathered(w, w.lanes<std::uint32_t>(i.at[2])[first_of(w.mask)], i)) return;
    for (unsigned lane = 0; lane < 32; ++lane) {
      yes |= (w.lanes<std::uint32_t>(i.at[1])[lane] & w.mask >> lane & 1) << lane;
    }
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(w.mask >> lane & 1)) continue;
    result[lane] = i.kind == kAll ? yes == w.mask : i.kind == kAny ? yes != 0 : yes;
  }
}

void meet(Warp& w, const Instruction& i) {
  if (!gathered(w, w.lanes<std::uint32_t>(i.at[0])[first_of(w.mask)], i)) return;
  if (w.mask == w.flow.live) w.lanes_met();
}

// blocks ------------------------------------------------------------------------------------------

void block_barrier(Warp& w, const Instruction& i) {
  if (!w.gather(w.flow.live, i)) return;
  const unsigned id = w.lanes<std::uint32_t>(i.at[0])[first_of(w.mask)];
  Barrier& barrier = w.block.barriers.at(id);
  if (!std::exchange(w.stall.arrived, true)) {
    barrier.expected = i.operands == 2 ? w.lanes<std::uint32_t>(i.at[1])[first_of(w.mask)] / 32 : 0;
    w.stall.generation = barrier.generation;
    w.lanes_met();
    barrier.arriving.join(w.publish());
    ++barrier.arrived;
    w.block.settle(barrier);
  }
  if (barrier.generation == w.stall.generation) return w.wait_for(barrier.generation);
  w.stall.arrived = false;
  w.learn(barrier.complete);
  w.lanes_met();
}

void Block::settle(Barrier& barrier) {
  const unsigned expected = barrier.expected != 0 ? barrier.expected : live;
  if (barrier.arrived != 0 && barrier.arrived == expected) {
    barrier.release();
    cluster.event = std::chrono::steady_clock::now();
  }
}

void Block::ends(Warp& warp) {
  --live;
  join(past, warp.view.now.past);
  for (Barrier& barrier : barriers) settle(barrier);
  if (live != 0) return;
  for (const auto& [who, when] : visits) {
    if (when > past[who]) throw std::runtime_error("a block ends that others may still use");
  }
}

// clusters ----------------------------------------------------------------------------------------

void cluster_arrive(Warp& w, const Instruction& i) {
  Barrier& barrier = w.block.cluster.barrier;
  w.stall.cluster_generation = barrier.generation;
  barrier.arriving.join(i.order == Order::release ? w.publish() : w.view.fenced);
  barrier.arrived += unsigned(__builtin_popcount(w.mask));
  w.block.cluster.settle_barrier();
}

void cluster_wait(Warp& w, const Instruction&) {
  const Barrier& barrier = w.block.cluster.barrier;
  if (barrier.generation == w.stall.cluster_generation) return w.wait_for(barrier.generation);
  w.learn(barrier.complete);
  if (w.mask == w.flow.live) w.lanes_met();
}

void Cluster::settle_barrier() {
  if (barrier.arrived == 0 || barrier.arrived < live) return;
  barrier.release();
  event = std::chrono::steady_clock::now();
}

void fence(Warp& w, const Instruction& i) {
  w.learn(w.view.loose);
  w.view.loose = {};
  if (w.view.polled && i.scope == Scope::system) {
    HostMemory& host = w.grid().host;
    host.copy();
    Knowledge news;
    news.seen.resize(w.grid().clocks);
    news.seen.back() = host.newest();
    w.learn(news);
    w.view.polled = false;
  }
  w.view.fenced = w.publish();
  w.view.fence = i.scope;
}

// mbarriers ---------------------------------------------------------------------------------------

Mbarrier& Block::mbarrier_at(std::uint32_t offset, const Access& access) {
  const auto found = mbarriers.find(offset);
  if (found == mbarriers.end()) access.warp.fail("there is no mbarrier", access.how);
  if (!access.warp.knows(written[offset / 4], access.lane)) {
    access.warp.fail("a race: an mbarrier that is not known to be there", access.how);
  }
  return found->second;
}

void Mbarrier::settle(Cluster& cluster) {
  if (pending != 0 || bytes != 0) return;
  ++phase;
  pending = expected;
  arriving.seen[who] = arriving.past[who] = phase;
  complete = arriving;
  far = false;
  cluster.event = std::chrono::steady_clock::now();
}

namespace {

void initialise(Block& block, std::uint32_t offset, unsigned count, const Access& access) {
  Warp& w = access.warp;
  Grid& grid = w.grid();
  Epoch epoch = {w.view.now.seen[w.who], w.who, std::uint8_t(access.lane), Made::weakly};
  block.at(offset, 8, access);
  block.write(offset, 8, w.view.now, epoch, access);
  epoch.made = Made::as_mbarrier;
  block.written[offset / 4] = block.written[offset / 4 + 1] = epoch;
  Mbarrier& made = block.mbarriers[offset];
  made.expected = count;
  made.pending = count;
  if (grid.next_mbarrier + 1u >= grid.clocks)
    w.fail("more mbarriers than there is room for", access.how);
  made.who = grid.next_mbarrier++;
  made.arriving.seen.resize(grid.clocks);
  made.arriving.past.resize(grid.clocks);
}

/// try_wait, test_wait: the lanes that step together ask for the same mbarrier.
void wait_for_phase(Warp& w, const Instruction& i) {
  const unsigned lane = first_of(w.mask);
  const Access access = {w, i, lane};
  const Place place = place_of(access, i.at[1], i.offset);
  if (place.block != &w.block) w.fail("an mbarrier is waited for in its own block only", i);
  Mbarrier& barrier = w.block.mbarrier_at(std::uint32_t(place.at), access);
  const std::uint64_t given =
      i.sign ? w.lanes<std::uint32_t>(i.at[2])[lane] : w.lanes<std::uint64_t>(i.at[2])[lane];
  const bool complete =
      i.sign ? (barrier.phase & 1) != (given & 1) : barrier.phase != std::uint32_t(given);
  const bool gives_up = std::exchange(w.stall.may_give_up, false) || w.grid().roll(8) == 0;
  if (!complete && i.kind == kTry && !gives_up) {
    w.wait_for(barrier.phase);
    w.stall.may_give_up = true;
    return;
  }
  for (unsigned each = 0; each < 32; ++each) {
    if (w.mask >> each & 1) w.lanes<std::uint32_t>(i.at[0])[each] = complete;
  }
  if (!complete) {
    w.stall.paused = i.kind == kTest;
  } else if (i.order == Order::acquire) {
    if (barrier.far && i.scope == Scope::block) {
      w.fail("an acquire within the block, of what another block released", i);
    }
    w.learn(barrier.complete);
  }
}

}  // namespace

void mbarrier(Warp& w, const Instruction& i) {
  if (i.kind == kTest || i.kind == kTry) return wait_for_phase(w, i);
  const bool arrives = i.kind == kArrive || i.kind == kArriveExpect;
  const Knowledge told = arrives && i.order == Order::release ? w.publish() : w.view.fenced;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(w.mask >> lane & 1)) continue;
    const Access access = {w, i, lane};
    const Place place = place_of(access, i.at[1], i.offset);
    if (place.block == nullptr || place.at % 8 != 0) w.fail("no place for an mbarrier", i);
    const unsigned value = w.lanes<std::uint32_t>(i.at[2])[lane];
    const auto offset = std::uint32_t(place.at);
    if (i.kind == kInit) {
      initialise(*place.block, offset, value, access);
      continue;
    }
    Mbarrier& barrier = place.block->mbarrier_at(offset, access);
    if (i.kind == kInvalidate) {
      place.block->mbarriers.erase(offset);
      place.block->written[offset / 4].made = place.block->written[offset / 4 + 1].made =
          Made::weakly;
      continue;
    }
    w.lanes<std::uint64_t>(i.at[0])[lane] = barrier.phase;
    if (i.kind != kArrive) barrier.bytes += value;
    if (arrives) {
      const bool far = place.block != &w.block;
      if (!far || i.scope != Scope::block) barrier.arriving.join(told);
      barrier.far |= far && i.order == Order::release;
      barrier.pending -= i.kind == kArrive ? value : 1;
      if (barrier.pending < 0) w.fail("more arrivals than an mbarrier expects", i);
    }
    barrier.settle(w.block.cluster);
  }
}

/// One of the async stores that are on their way arrives.
void Cluster::deliver() {
  const std::size_t chosen = grid.roll(unsigned(arrivals.size()));
  std::swap(arrivals[chosen], arrivals.back());
  const Arrival arrival = std::move(arrivals.back());
  arrivals.pop_back();
  Block& block = *arrival.block;
  const Access access = {*arrival.from, *arrival.how, 0};
  if (block.live == 0) arrival.from->fail("it arrives after the block's end", *arrival.how);
  const auto found = block.mbarriers.find(arrival.mbarrier_at);
  if (found == block.mbarriers.end()) arrival.from->fail("its mbarrier has gone", *arrival.how);
  Mbarrier& barrier = found->second;
  const Epoch epoch = {barrier.phase + 1, barrier.who, 0, Made::weakly};
  block.write(arrival.data_at, arrival.bytes, *arrival.sender, epoch, access);
  std::memcpy(&block.shared[arrival.data_at], arrival.data.data(), arrival.bytes);
  if (std::exchange(barrier.last_sender, arrival.sender) != arrival.sender) {
    join(barrier.arriving.past, arrival.sender->past);
  }
  barrier.bytes -= arrival.bytes;
  event = std::chrono::steady_clock::now();
  barrier.settle(*this);
}

}  // namespace cuda_double
