// A grid of blocks that steps through a kernel (ptx.hpp), warp by warp in random order.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <random>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "host_memory.hpp"
#include "knowledge.hpp"
#include "ptx.hpp"

namespace cuda_double {

class Grid;
struct Cluster;
struct Block;

/// Which lanes step together, and where the others are. Lanes that went apart step lowest place
/// first, so that they meet again where their paths do.
struct Lanes {
  unsigned live = 0, active = 0;
  unsigned waiting = 0;  // at an instruction that takes others too
  int pc = 0, next = 0;
  int others = 0;  // the lowest place of those that wait for their turn
  std::array<int, 32> at = {};

  void split(unsigned elsewhere, int there);
  void regroup(int after = -1);
  void give_way();
};

/// What a warp knows (knowledge.hpp).
struct View {
  Knowledge now;
  Knowledge fenced;  // at its last fence
  Scope fence = Scope::block;
  Knowledge loose;      // from relaxed loads: a fence makes it known
  bool polled = false;  // news from the host among it
  Knowledge ahead;      // what some lanes know, until all meet
  unsigned ahead_lanes = 0;
  std::uint32_t met = 0;                    // its time when its lanes met last
  std::shared_ptr<const Knowledge> shared;  // what async stores carry, until something changes
};

/// What a warp waits for: that a number changes.
struct Stall {
  const std::uint32_t* number = nullptr;
  std::uint32_t value = 0;
  bool may_give_up = false;  // try_wait returns after a while, whether or not
  bool paused = false;       // its turn ends: it polls
  bool arrived = false;      // at the block's barrier
  std::uint32_t generation = 0, cluster_generation = 0;  // of the barriers, at its arrival

  bool over() const { return number == nullptr || *number != value; }
};

class Warp {
 public:
  Warp(Block& its_block, unsigned its_number, unsigned threads);
  template <class T>
  T* lanes(std::uint32_t place) {
    return reinterpret_cast<T*>(registers.data() + place);
  }
  void run(unsigned steps);
  /// Its turn ends, and comes again at this instruction when the number has changed.
  void wait_for(const std::uint32_t& number);
  /// What the lanes that step now tell others.
  Knowledge publish();
  void learn(const Knowledge& known);
  bool knows(const Epoch& epoch, unsigned lane) const;
  void tick();
  /// False until all of these lanes are at this instruction.
  bool gather(unsigned lanes, const Instruction& i);
  void lanes_met();
  [[noreturn]] void fail(const std::string& what, const Instruction& i) const;
  Grid& grid() const;

  Block& block;
  const unsigned number;  // in its block
  std::uint16_t who;      // in the grid
  unsigned mask = 0;      // the lanes that this instruction is for
  Lanes flow;
  View view;
  Stall stall;
  std::vector<char> registers;
};

struct Barrier {
  unsigned arrived = 0;
  unsigned expected = 0;  // warps, 0 for all that live
  std::uint32_t generation = 0;
  Knowledge arriving, complete;

  void release() {
    complete = std::move(arriving);
    arriving = {};
    arrived = 0;
    ++generation;
  }
};

struct Mbarrier {
  unsigned expected = 0;
  std::int64_t pending = 0, bytes = 0;
  std::uint32_t phase = 0;
  std::uint16_t who = 0;
  bool far = false;  // another block arrived
  Knowledge arriving, complete;
  std::shared_ptr<const Knowledge> last_sender;

  void settle(Cluster& cluster);
};

/// An access to shared memory: who, and how.
struct Access {
  Warp& warp;
  const Instruction& how;
  unsigned lane;
};

struct Block {
  Block(Cluster& its_cluster, unsigned its_number);
  /// Breach where it lies outside, or a block's memory is used before it began or after its end.
  char* at(std::uint32_t offset, unsigned bytes, const Access& access);
  void read(std::uint32_t offset, unsigned bytes, const Access& access);
  void write(std::uint32_t offset, unsigned bytes, const Knowledge& writer, Epoch epoch,
             const Access& access);
  Mbarrier& mbarrier_at(std::uint32_t offset, const Access& access);
  void ends(Warp& warp);
  void settle(Barrier& barrier);

  Cluster& cluster;
  const unsigned number;      // in the grid
  const unsigned first_warp;  // in the grid
  unsigned live;              // warps
  std::vector<char> shared;
  std::vector<Epoch> written;        // by word
  std::vector<std::uint32_t> reads;  // by word and warp of the block: when
  std::map<std::uint32_t, std::map<std::uint16_t, std::uint32_t>> far_reads;  // by other blocks
  std::map<std::uint16_t, std::uint32_t> visits;  // by other blocks, the last of each
  Clock past;                                     // of the warps that have ended
  std::array<Barrier, 16> barriers;
  std::map<std::uint32_t, Mbarrier> mbarriers;
};

/// Where an address leads: into a block's shared memory, or to a global address.
struct Place {
  Block* block;
  std::uint64_t at;
};
Place place_of(const Access& access, std::uint32_t operand, std::int64_t offset);

/// An st.async on its way.
struct Arrival {
  Block* block;
  std::uint32_t data_at, mbarrier_at;
  std::array<char, 16> data;
  unsigned bytes;
  std::shared_ptr<const Knowledge> sender;
  Warp* from;
  const Instruction* how;
};

struct Cluster {
  Cluster(Grid& its_grid, unsigned first_block);
  ~Cluster();
  void run();
  void deliver();
  void settle_barrier();

  Grid& grid;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<Arrival> arrivals;
  Barrier barrier;
  unsigned live = 0;                            // lanes
  std::chrono::steady_clock::time_point event;  // the last that others may wait for

 private:
  Warp* pick();
  bool rouse();
  void check_patience();
  [[noreturn]] void stuck() const;
};

constexpr unsigned kMbarriers = 32;  // of a block, at most

struct Launch {
  unsigned blocks, threads;
  std::size_t dynamic_shared;
  std::vector<std::vector<char>> parameters;
};

/// A launch: its arguments, its memory and its dice.
class Grid {
 public:
  Grid(const Kernel& its_kernel, const Launch& launch);
  void run();

  /// The device memory behind a global address, checked; nullptr where it is the host's.
  char* global(std::uint64_t address, unsigned bytes, const Access& access, bool writes);
  unsigned roll(unsigned sides) { return unsigned(dice_() % sides); }

  const Kernel& kernel;
  const unsigned blocks, threads, warps_a_block;
  const std::size_t shared_bytes;
  const std::vector<std::vector<char>> parameters;
  HostMemory host;
  std::uint32_t clocks = 0;         // how long a Clock is; its last is the host's
  std::uint16_t next_mbarrier = 0;  // as a `who`
  struct Message {
    Knowledge known;
    Scope scope;
    const Block* from;
  };
  std::unordered_map<const char*, Message> messages;  // by the word that carries them

 private:
  struct Device {
    Piece piece;
    std::vector<Epoch> written;  // by word, since the launch
  };
  std::mt19937 dice_;
  std::vector<Device> devices_;
};

/// Copies the arguments, as a launch does, and returns what runs the whole grid.
std::function<void()> launch_of(std::shared_ptr<const Kernel> kernel, void** arguments,
                                unsigned blocks, unsigned threads, std::size_t dynamic_shared);

}  // namespace cuda_double
