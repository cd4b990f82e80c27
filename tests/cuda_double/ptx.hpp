// A kernel as NVRTC writes it, PTX, decoded once so that warps can step through it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cuda_double {

class Warp;
struct Instruction;
using Step = void (*)(Warp&, const Instruction&);

enum class Space : std::uint8_t { generic, global, shared, cluster };
enum class Order : std::uint8_t { weak, relaxed, acquire, release, both };
enum class Scope : std::uint8_t { block, cluster, gpu, system };

/// Operands lie in the warp's register file, at these places: in the order that PTX lists them, a
/// vector's elements one after the other. Constants have places of their own.
struct Instruction {
  Step step = nullptr;
  std::uint32_t at[8] = {};
  std::uint32_t guard = 0;  // the place of a predicate, or 0
  bool inverted = false;    // the guard is !predicate
  bool wide_address = true;
  int line = 0;
  int target = -1;  // of a branch
  // An access to memory: `count` elements of `width` bytes at [at[count] + offset], for st.async
  // the address first.
  std::int64_t offset = 0, second_offset = 0;
  std::uint8_t width = 0, count = 1, in_register = 0;  // bytes of an element here and there
  bool sign = false;
  Space space = Space::generic;
  Order order = Order::weak;
  Scope scope = Scope::block;
  std::uint8_t operands = 0, kind = 0;  // what else a step has to know
};

/// Registers that tell a thread where it is.
enum class SpecialKind : std::uint8_t {
  thread,
  lane,
  warp,
  block,
  rank,
  cluster,
  threads,
  blocks,
  ranks,
  none,
  one
};

/// A lane's part of a register is as wide as its type; a predicate's is 32 bits, 0 or 1.
struct Kernel {
  std::string name;
  std::vector<Instruction> code;
  std::vector<std::string> text;                 // of each instruction, for messages
  std::vector<char> registers;                   // as a warp finds them: constants, poison
  mutable std::vector<std::vector<char>> spare;  // of warps that have ended
  struct Special {
    SpecialKind kind;
    std::uint32_t at;
  };
  std::vector<Special> specials;        // those it reads
  std::vector<std::size_t> parameters;  // sizes, in order
  std::size_t shared_bytes = 0;         // without what the launch adds
  unsigned cluster = 1, threads = 0;    // blocks; the most of a block, 0 unknown
  bool explicit_cluster = false;
  bool polls = false;  // it loads what the host writes meanwhile: it may stay
  bool mbarriers = false;
};

struct NoSuchKernel {};

/// What `text` says of this kernel. Throws std::runtime_error on what the interpreter cannot do,
/// NoSuchKernel where there is none.
Kernel decode(const std::string& text, const std::string& name);

/// The compute capability that the text is for: 90 is 9.0.
int target_of(const std::string& text);

/// An instruction that treats each lane alone, by its name: its step and the widths of its
/// operands.
struct Arithmetic {
  Step step;
  std::vector<std::uint8_t> widths;
};
const Arithmetic* find_arithmetic(const std::string& name);

// The others, by their families (machine.hpp).
void branch(Warp&, const Instruction&);
void leave(Warp&, const Instruction&);
void load(Warp&, const Instruction&);
void load_parameter(Warp&, const Instruction&);
void store(Warp&, const Instruction&);
void store_async(Warp&, const Instruction&);
void map_address(Warp&, const Instruction&);
void shuffle(Warp&, const Instruction&);
void vote(Warp&, const Instruction&);
void meet(Warp&, const Instruction&);
void block_barrier(Warp&, const Instruction&);
void cluster_arrive(Warp&, const Instruction&);
void cluster_wait(Warp&, const Instruction&);
void fence(Warp&, const Instruction&);
void mbarrier(Warp&, const Instruction&);
void tell_time(Warp&, const Instruction&);
void sleep_a_while(Warp&, const Instruction&);

enum ShuffleKind : std::uint8_t { kUp, kDown, kButterfly, kIndex };
enum VoteKind : std::uint8_t { kAll, kAny, kBallot, kActive };
enum MbarrierKind : std::uint8_t {
  kInit,
  kArrive,
  kExpect,
  kArriveExpect,
  kTest,
  kTry,
  kInvalidate
};

/// In generic addresses, shared memory lies from here on; in cluster addresses, block r's lies at
/// (r + 1) << 24 and one's own at 0 too.
constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 60;
constexpr unsigned kRankShift = 24;

}  // namespace cuda_double
