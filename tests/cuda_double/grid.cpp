// How a grid goes through its kernel: blocks, warps and lanes, and who has the next turn.
#include "grid.hpp"

#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace cuda_double {
namespace {

using Time = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(10);

int setting(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : otherwise;
}

unsigned seed() {
  static std::atomic<unsigned> launches{0};
  return unsigned(setting("CUDA_DOUBLE_SEED", 1)) * 1'000'003u + launches++;
}

}  // namespace

// lanes -------------------------------------------------------------------------------------------

/// Those of `elsewhere` go there, the others go on.
void Lanes::split(unsigned elsewhere, int there) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (active >> lane & 1) at[lane] = elsewhere >> lane & 1 ? there : next;
  }
  active = 0;
  regroup();
  next = pc;
}

/// The turn of those at the lowest place after this one, or else at the lowest; of those who wait,
/// where the last of the others has gone.
void Lanes::regroup(int after) {
  unsigned ready = live & ~waiting;
  if (ready == 0) ready = std::exchange(waiting, 0) & live;
  int lowest = INT_MAX, lowest_after = INT_MAX;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(ready >> lane & 1)) continue;
    lowest = std::min(lowest, at[lane]);
    if (at[lane] > after) lowest_after = std::min(lowest_after, at[lane]);
  }
  pc = lowest_after != INT_MAX ? lowest_after : lowest;
  others = INT_MAX;
  active = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(ready >> lane & 1)) continue;
    if (at[lane] == pc) {
      active |= 1u << lane;
    } else {
      others = std::min(others, at[lane]);
    }
  }
}

void Lanes::give_way() {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (active >> lane & 1) at[lane] = pc;
  }
  regroup(pc);
}

// warps -------------------------------------------------------------------------------------------

Warp::Warp(Block& its_block, unsigned its_number, unsigned threads)
    : block(its_block), number(its_number), who(std::uint16_t(its_block.first_warp + its_number)) {
  Grid& g = grid();
  if (g.kernel.spare.empty()) {
    registers = g.kernel.registers;
  } else {
    registers = std::move(g.kernel.spare.back());
    g.kernel.spare.pop_back();
  }
  flow.live = flow.active = threads < 32 ? (1u << threads) - 1 : ~0u;
  flow.others = INT_MAX;
  const unsigned ranks = g.kernel.cluster;
  const unsigned values[] = {0,
                             0,
                             number,
                             block.number,
                             block.number % ranks,
                             block.number / ranks,
                             g.threads,
                             g.blocks,
                             ranks,
                             0,
                             1};  // by SpecialKind
  for (const Kernel::Special& special : g.kernel.specials) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      lanes<std::uint32_t>(special.at)[lane] =
          special.kind == SpecialKind::thread ? number * 32 + lane
          : special.kind == SpecialKind::lane ? lane
                                              : values[unsigned(special.kind)];
    }
  }
  view.now.seen.resize(g.clocks);
  view.now.past.resize(g.clocks);
  lanes_met();
}

Grid& Warp::grid() const { return block.cluster.grid; }

void Warp::run(unsigned steps) {
  stall.number = nullptr;
  stall.paused = false;
  const std::vector<Instruction>& code = grid().kernel.code;
  while (steps-- > 0 && flow.active != 0 && stall.number == nullptr && !stall.paused) {
    const Instruction& i = code[std::size_t(flow.pc)];
    flow.next = flow.pc + 1;
    mask = flow.active;
    if (i.guard != 0) {
      const auto* predicate = lanes<std::uint32_t>(i.guard);
      unsigned yes = 0;
      for (unsigned lane = 0; lane < 32; ++lane) yes |= (predicate[lane] & 1) << lane;
      mask &= i.inverted ? ~yes : yes;
    }
    if (mask != 0) i.step(*this, i);
    flow.pc = flow.next;
    if (flow.pc >= flow.others && !stall.paused) {
      flow.split(0, 0);
      flow.pc = flow.next;
    }
  }
  if (stall.paused && flow.others != INT_MAX) flow.give_way();
}

bool Warp::gather(unsigned lanes, const Instruction& i) {
  unsigned here = mask;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (flow.waiting >> lane & 1 && flow.at[lane] == flow.pc) here |= 1u << lane;
  }
  if ((here & lanes) == lanes) {
    flow.waiting &= ~here;
    flow.active |= here;
    mask = here;
    return true;
  }
  flow.waiting |= mask;
  if ((flow.live & ~flow.waiting) == 0) fail("lanes wait for others that never come", i);
  const unsigned others = flow.active & ~mask;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (flow.active >> lane & 1) flow.at[lane] = others >> lane & 1 ? flow.next : flow.pc;
  }
  flow.regroup();
  flow.next = flow.pc;
  return false;
}

void Warp::wait_for(const std::uint32_t& what) {
  flow.next = flow.pc;
  if (flow.others != INT_MAX) {  // the turn of the warp's other lanes
    stall.paused = true;
    return;
  }
  stall.number = &what;
  stall.value = what;
}

Knowledge Warp::publish() {
  Knowledge known = view.now;
  if (mask & view.ahead_lanes) known.join(view.ahead);
  if (mask != flow.live) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (mask >> lane & 1) known.lanes.push_back({known.seen[who], who, std::uint8_t(lane)});
    }
    known.seen[who] = view.met - 1;
  }
  tick();
  return known;
}

/// By the lanes that step now.
void Warp::learn(const Knowledge& known) {
  view.shared.reset();
  if (mask == flow.live) {
    view.now.join(known);
  } else {
    view.ahead.join(known);
    view.ahead_lanes |= mask;
  }
}

void Warp::tick() {
  ++view.now.seen[who];
  ++view.now.past[who];
  view.shared.reset();
}

void Warp::lanes_met() {
  if (view.ahead_lanes != 0) {
    view.now.join(view.ahead);
    view.ahead = {};
    view.ahead_lanes = 0;
  }
  tick();
  view.met = view.now.seen[who];
}

void Warp::fail(const std::string& what, const Instruction& i) const {
  const Kernel& kernel = grid().kernel;
  throw std::runtime_error(what + ", in block " + std::to_string(block.number) + ", warp " +
                           std::to_string(number) + ": line " + std::to_string(i.line) +
                           " of its PTX, " + kernel.text[std::size_t(&i - kernel.code.data())]);
}

void branch(Warp& w, const Instruction& i) {
  if (w.mask == w.flow.active) {
    w.flow.next = i.target;
  } else {
    w.flow.split(w.mask, i.target);
  }
}

void leave(Warp& w, const Instruction&) {
  w.flow.live &= ~w.mask;
  w.block.cluster.live -= unsigned(__builtin_popcount(w.mask));
  w.flow.split(0, 0);
  if (w.flow.live == 0) w.block.ends(w);
  w.block.cluster.settle_barrier();
}

/// The GPU's clock goes as much slower as its arithmetic does.
void tell_time(Warp& w, const Instruction& i) {
  static const int slower = setting("CUDA_DOUBLE_SLOWER", 20);
  const auto now = Time::now().time_since_epoch();
  const std::uint64_t time = std::uint64_t(std::chrono::nanoseconds(now).count() / slower);
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (w.mask >> lane & 1) std::memcpy(&w.registers[i.at[0] + lane * i.width], &time, i.width);
  }
  w.stall.paused = true;  // whoever looks at it may be waiting
}

void sleep_a_while(Warp& w, const Instruction&) { w.stall.paused = true; }

// clusters ----------------------------------------------------------------------------------------

Cluster::Cluster(Grid& its_grid, unsigned first_block) : grid(its_grid), event(Time::now()) {
  for (unsigned rank = 0; rank < grid.kernel.cluster; ++rank) {
    blocks.push_back(std::make_unique<Block>(*this, first_block + rank));
    for (unsigned warp = 0; warp < grid.warps_a_block; ++warp) {
      const unsigned threads = grid.threads - warp * 32;
      warps.push_back(std::make_unique<Warp>(*blocks.back(), warp, threads));
    }
  }
  live = grid.kernel.cluster * grid.threads;
}

Cluster::~Cluster() {
  for (auto& warp : warps) grid.kernel.spare.push_back(std::move(warp->registers));
}

void Cluster::run() {
  std::size_t idle = 0;
  for (unsigned turn = 0; live > 0; ++turn) {
    if (turn % 64 == 0) check_patience();
    if (grid.roll(4) == 0) {
      for (std::size_t n = grid.roll(unsigned(arrivals.size()) + 1); n > 0; --n) deliver();
    }
    if (grid.roll(4) == 0) grid.host.send_one();
    Warp* const warp = pick();
    if (warp == nullptr) {
      if (!rouse()) stuck();
      continue;
    }
    warp->run(grid.roll(4) != 0 ? 5000 : 1 + grid.roll(40));
    idle = warp->stall.paused ? idle + 1 : 0;
    if (idle > 2 * warps.size()) {
      rouse();
      check_patience();
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  while (!arrivals.empty()) deliver();
}

Warp* Cluster::pick() {
  const unsigned first = grid.roll(unsigned(warps.size()));
  for (std::size_t i = 0; i < warps.size(); ++i) {
    Warp& warp = *warps[(first + i) % warps.size()];
    if (warp.flow.live != 0 && warp.stall.over()) return &warp;
  }
  return nullptr;
}

/// Something that takes its time happens, where nobody can go on: false where nothing is left.
bool Cluster::rouse() {
  if (!arrivals.empty()) return deliver(), true;
  if (grid.host.send_one()) return true;
  bool any = false;
  for (auto& warp : warps) {
    if (!warp->stall.may_give_up) continue;
    warp->stall.number = nullptr;
    any = true;
  }
  return any;
}

void Cluster::check_patience() {
  if (broken()) throw std::runtime_error("something else broke");
  if (Time::now() - event > kPatience) stuck();
}

void Cluster::stuck() const {
  for (const auto& warp : warps) {
    if (warp->flow.live == 0) continue;
    warp->fail("it waits for what never comes",
               grid.kernel.code[std::size_t(std::min(warp->flow.pc, INT_MAX - 1))]);
  }
  throw std::runtime_error("it waits for what never comes");
}

// grids -------------------------------------------------------------------------------------------

Grid::Grid(const Kernel& its_kernel, const Launch& launch)
    : kernel(its_kernel),
      blocks(launch.blocks),
      threads(launch.threads),
      warps_a_block((launch.threads + 31) / 32),
      shared_bytes(its_kernel.shared_bytes + launch.dynamic_shared),
      parameters(launch.parameters),
      host(seed()),
      dice_(seed()) {
  next_mbarrier = std::uint16_t(blocks * warps_a_block);
  clocks = next_mbarrier + (kernel.mbarriers ? kMbarriers * blocks : 0) + 1u;
}

void Grid::run() {
  try {
    std::vector<unsigned> order(blocks / kernel.cluster);
    for (unsigned i = 0; i < order.size(); ++i) order[i] = i * kernel.cluster;
    std::shuffle(order.begin(), order.end(), dice_);
    for (const unsigned first : order) Cluster(*this, first).run();
    host.send_all();
  } catch (const std::exception& error) {
    breach(kernel.name + ": " + error.what());
  }
}

std::function<void()> launch_of(std::shared_ptr<const Kernel> kernel, void** arguments,
                                unsigned blocks, unsigned threads, std::size_t dynamic_shared) {
  Launch launch = {blocks, threads, dynamic_shared, {}};
  for (std::size_t k = 0; k < kernel->parameters.size(); ++k) {
    const auto* from = static_cast<const char*>(arguments[k]);
    launch.parameters.emplace_back(from, from + kernel->parameters[k]);
  }
  return [kernel, launch] { Grid(*kernel, launch).run(); };
}

}  // namespace cuda_double
