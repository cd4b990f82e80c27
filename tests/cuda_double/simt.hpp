// CUDA blocks on the CPU: their threads are fibres that take turns, so that __syncthreads, the
// shuffles and a cluster's barrier mean what they mean on a GPU. Include this, then the text of a
// .cu file.
//
// A block runs until all of its threads wait for others: whoever forgot to wait is far ahead. A
// cluster's blocks have a copy of the shared memory each; it is brought in when the block's turn
// comes, so that the kernel finds it under one name.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels.hpp"
#include "machine.hpp"

#undef __global__
#undef __device__
#undef __shared__
#undef __launch_bounds__
#undef __cluster_dims__
#define __global__
#define __device__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __shared__ static thread_local

struct Index {
  int x;
};
inline thread_local Index threadIdx, blockIdx;

namespace cuda_double {

/// The variable that a kernel has in shared memory.
struct SharedMemory {
  char* start = nullptr;
  std::size_t bytes = 0;
};

class Cluster {
 public:
  static Cluster& current() { return *running_; }

  Cluster(unsigned blocks, unsigned threads, SharedMemory shared, const std::function<void()>& body)
      : body_(body), shared_(shared), threads_(threads), fibres_(blocks * threads) {
    const unsigned warps = (threads + 31) / 32;
    for (unsigned i = 0; i < blocks; ++i) {
      blocks_.push_back({std::vector<char>(blocks > 1 ? shared.bytes : 0, '\xff'),
                         std::vector<unsigned>(warps, 0)});
    }
    running_ = this;
    for (Fibre& fibre : fibres_) start(fibre);
    for (bool progress = true; progress && !broken();) {
      progress = false;
      for (now_block_ = 0; now_block_ < blocks; ++now_block_) progress |= run_block();
    }
    running_ = nullptr;
    const bool all = std::all_of(fibres_.begin(), fibres_.end(),
                                 [](const Fibre& fibre) { return fibre.finished; });
    if (!all && !broken()) breach("a barrier that some threads never reach");
  }

  /// Until all threads of the block have come here.
  void barrier() {
    Block& block = blocks_[now_block_];
    ++block.arrived;
    wait_for(block.arrived, ++now_->barriers * threads_);
  }

  void arrive_at_cluster_barrier() { ++arrived_; }
  void wait_at_cluster_barrier() {
    wait_for(arrived_, ++now_->cluster_barriers * static_cast<unsigned>(fibres_.size()));
  }

  /// What the lane `other` of this warp passed in, for shuffles; its own value where there is none.
  template <class Value>
  Value exchange(Value value, unsigned (*other)(unsigned lane, unsigned by), unsigned by) {
    Fibre& me = *now_;
    const unsigned thread = index() % threads_, lane = thread % 32, warp = thread / 32;
    const unsigned lanes = std::min(32u, threads_ - warp * 32);
    const unsigned mine = ++me.exchanges;
    std::memcpy(&me.passed[mine % 2], &value, sizeof value);
    unsigned& arrived = blocks_[now_block_].exchanged[warp];
    ++arrived;
    wait_for(arrived, mine * lanes);
    const unsigned from = other(lane, by);
    if (from < lanes)
      std::memcpy(&value, &(&me)[int(from) - int(lane)].passed[mine % 2], sizeof value);
    return value;
  }

  unsigned block() const { return now_block_; }

  /// The same variable in another block's shared memory.
  void* in_block(const void* variable, unsigned block) {
    auto* mine = static_cast<char*>(const_cast<void*>(variable));
    if (block == now_block_) return mine;
    const Fibre& first = fibres_[block * threads_];
    if (!first.started || first.finished)
      breach("a block's memory before it began or after its end");
    return blocks_.at(block).home.data() + (mine - shared_.start);
  }

  /// The other blocks have their turn.
  void rest(unsigned nanoseconds) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds));
    resting_ = true;
    yield();
  }

 private:
  struct Fibre {
    jmp_buf here;
    bool started = false, finished = false;
    const unsigned* counter = nullptr;  // what it waits for, and until it says what
    unsigned goal = 0;
    unsigned barriers = 0, cluster_barriers = 0, exchanges = 0;
    std::uint64_t passed[2] = {};
    ucontext_t context;

    bool ready() const { return !finished && (counter == nullptr || *counter >= goal); }
  };

  struct Block {
    std::vector<char> home;           // its shared memory while another block runs
    std::vector<unsigned> exchanged;  // arrivals at shuffles, by warp
    unsigned arrived = 0;             // arrivals at barriers
  };

  static constexpr std::size_t kStack = 32 << 10;

  std::size_t index() const { return now_ - fibres_.data(); }

  bool run_block() {
    Fibre* const first = &fibres_[now_block_ * threads_];
    Fibre* const end = first + threads_;
    if (std::none_of(first, end, [](const Fibre& fibre) { return fibre.ready(); })) return false;
    Block& block = blocks_[now_block_];
    if (!block.home.empty()) std::memcpy(shared_.start, block.home.data(), shared_.bytes);
    resting_ = false;
    for (bool progress = true; progress && !resting_ && !broken();) {
      progress = false;
      for (Fibre* fibre = first; fibre != end; ++fibre) {
        if (!fibre->ready()) continue;
        resume(*fibre);
        progress = true;
      }
    }
    if (!block.home.empty()) std::memcpy(block.home.data(), shared_.start, shared_.bytes);
    return true;
  }

  void start(Fibre& fibre) {
    static thread_local std::vector<std::unique_ptr<char[]>> stacks;
    const std::size_t index = &fibre - fibres_.data();
    while (stacks.size() <= index) stacks.emplace_back(new char[kStack]);  // not touched yet
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = stacks[index].get();
    fibre.context.uc_stack.ss_size = kStack - index % 61 * 128;  // not all in the same cache lines
    fibre.context.uc_link = nullptr;
    makecontext(&fibre.context, &Cluster::enter_fibre, 0);
  }

  static void enter_fibre() {
    Cluster& cluster = *running_;
    cluster.body_();
    cluster.now_->finished = true;
    _longjmp(cluster.scheduler_, 1);
  }

  void resume(Fibre& fibre) {
    now_ = &fibre;
    fibre.counter = nullptr;
    threadIdx.x = static_cast<int>(index() % threads_);
    if (_setjmp(scheduler_) != 0) return;
    if (!std::exchange(fibre.started, true)) setcontext(&fibre.context);
    _longjmp(fibre.here, 1);
  }

  void wait_for(const unsigned& counter, unsigned goal) {
    if (counter >= goal) return;
    now_->counter = &counter;
    now_->goal = goal;
    yield();
  }

  /// setjmp and longjmp, since swapcontext makes a system call each time.
  void yield() {
    if (_setjmp(now_->here) == 0) _longjmp(scheduler_, 1);
  }

  static inline thread_local Cluster* running_ = nullptr;
  const std::function<void()>& body_;
  SharedMemory shared_;
  unsigned threads_;
  std::vector<Fibre> fibres_;
  std::vector<Block> blocks_;
  unsigned arrived_ = 0;  // at the cluster's barriers
  unsigned now_block_ = 0;
  Fibre* now_ = nullptr;
  bool resting_ = false;
  jmp_buf scheduler_;
};

/// The `bind` of a kernel (kernels.hpp), made from its signature: one block after the other.
template <auto kernel>
struct Launch;

template <class... Parameters, void (*kernel)(Parameters...)>
struct Launch<kernel> {
  static std::function<void()> bind(void** arguments, unsigned blocks, unsigned threads) {
    const std::tuple<Parameters...> copies = copy(arguments);
    return [=] {
      for (unsigned block = 0; block < blocks; ++block) {
        blockIdx.x = static_cast<int>(block);
        const std::function<void()> body = [&] { std::apply(kernel, copies); };
        Cluster run(1, threads, {}, body);
      }
    };
  }

  static std::tuple<Parameters...> copy(void** arguments) {
    return copy(arguments, std::index_sequence_for<Parameters...>());
  }
  template <std::size_t... i>
  static std::tuple<Parameters...> copy(void** arguments, std::index_sequence<i...>) {
    (void)arguments;
    return {*static_cast<Parameters*>(arguments[i])...};
  }
};

}  // namespace cuda_double

inline void __syncthreads() { cuda_double::Cluster::current().barrier(); }

template <class Value>
Value __shfl_down_sync(unsigned, Value value, unsigned distance) {
  const auto further = [](unsigned lane, unsigned by) { return lane + by; };
  return cuda_double::Cluster::current().exchange(value, further, distance);
}
template <class Value>
Value __shfl_xor_sync(unsigned, Value value, unsigned mask) {
  const auto across = [](unsigned lane, unsigned by) { return lane ^ by; };
  return cuda_double::Cluster::current().exchange(value, across, mask);
}
inline void __syncwarp() { __shfl_xor_sync(0xffffffff, 0, 0); }
