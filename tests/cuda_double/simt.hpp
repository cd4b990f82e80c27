// A CUDA block on the CPU: its threads are fibres that take turns, so that __syncthreads and the
// shuffles mean what they mean on a GPU. Include this, then the text of a .cu file.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels.hpp"
#include "machine.hpp"

#undef __global__
#undef __device__
#undef __shared__
#undef __launch_bounds__
#define __global__
#define __device__
#define __launch_bounds__(threads)
#define __shared__ static thread_local  // blocks run one after the other

struct Index {
  int x;
};
inline thread_local Index threadIdx, blockIdx;

namespace cuda_double {

class Block {
 public:
  static Block& current() { return *running_; }

  Block(unsigned threads, const std::function<void()>& body) : body_(body), fibres_(threads) {
    running_ = this;
    for (Fibre& fibre : fibres_) start(fibre);
    for (bool alive = true; alive;) {
      alive = false;
      progress_ = false;
      for (Fibre& fibre : fibres_) {
        if (fibre.finished) continue;
        resume(fibre);
        alive = true;
      }
      if (alive && !progress_) {
        breach("a barrier that some threads of the block never reach");
        return;
      }
    }
  }

  /// Until all threads of the block have come here.
  void barrier() {
    Fibre& me = *now_;
    const unsigned mine = ++me.barriers;
    progress_ = true;
    while (!reached(0, fibres_.size(), &Fibre::barriers, mine)) yield();
  }

  /// What the lane `distance` further on passed in, as __shfl_down_sync has it.
  float shuffle_down(float value, unsigned distance) {
    Fibre& me = *now_;
    const std::size_t index = &me - fibres_.data(), warp = index / 32 * 32;
    const unsigned mine = ++me.shuffles;
    me.passed[mine % 2] = value;
    progress_ = true;
    while (!reached(warp, std::min(warp + 32, fibres_.size()), &Fibre::shuffles, mine)) yield();
    const std::size_t other = index + distance;
    return other < warp + 32 ? fibres_[other].passed[mine % 2] : value;
  }

 private:
  struct Fibre {
    jmp_buf here;
    bool started = false, finished = false;
    unsigned barriers = 0, shuffles = 0;
    float passed[2] = {};
    ucontext_t context;
    char* stack = nullptr;
  };

  static constexpr std::size_t kStack = 32 << 10;

  bool reached(std::size_t from, std::size_t to, unsigned Fibre::* count, unsigned goal) const {
    return std::all_of(fibres_.begin() + from, fibres_.begin() + to,
                       [&](const Fibre& fibre) { return fibre.*count >= goal; });
  }

  void start(Fibre& fibre) {
    static thread_local std::vector<std::unique_ptr<char[]>> stacks;
    const std::size_t index = &fibre - fibres_.data();
    while (stacks.size() <= index) stacks.push_back(std::make_unique<char[]>(kStack));
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = stacks[index].get();
    fibre.context.uc_stack.ss_size = kStack;
    fibre.context.uc_link = nullptr;
    makecontext(&fibre.context, &Block::enter_fibre, 0);
  }

  static void enter_fibre() {
    Block& block = *running_;
    block.body_();
    block.now_->finished = true;
    block.progress_ = true;
    _longjmp(block.scheduler_, 1);
  }

  void resume(Fibre& fibre) {
    now_ = &fibre;
    threadIdx.x = static_cast<int>(&fibre - fibres_.data());
    if (_setjmp(scheduler_) != 0) return;
    if (!std::exchange(fibre.started, true)) setcontext(&fibre.context);
    _longjmp(fibre.here, 1);
  }

  /// setjmp and longjmp, since swapcontext makes a system call each time.
  void yield() {
    if (_setjmp(now_->here) == 0) _longjmp(scheduler_, 1);
  }

  static inline thread_local Block* running_ = nullptr;
  const std::function<void()>& body_;
  std::vector<Fibre> fibres_;
  Fibre* now_ = nullptr;
  jmp_buf scheduler_;
  bool progress_ = false;
};

/// The `bind` of a kernel (kernels.hpp), made from its signature.
template <auto kernel>
struct Launch;

template <class... Parameters, void (*kernel)(Parameters...)>
struct Launch<kernel> {
  static std::function<void()> bind(void** arguments, unsigned blocks, unsigned threads,
                                    std::size_t) {
    return bind(arguments, blocks, threads, std::index_sequence_for<Parameters...>());
  }

  template <std::size_t... i>
  static std::function<void()> bind(void** arguments, unsigned blocks, unsigned threads,
                                    std::index_sequence<i...>) {
    (void)arguments;
    const std::tuple<Parameters...> copies(*static_cast<Parameters*>(arguments[i])...);
    return [=] {
      for (unsigned block = 0; block < blocks; ++block) {
        blockIdx.x = static_cast<int>(block);
        const std::function<void()> body = [&] { std::apply(kernel, copies); };
        Block run(threads, body);
      }
    };
  }
};

}  // namespace cuda_double

inline void __syncthreads() { cuda_double::Block::current().barrier(); }
inline float __shfl_down_sync(unsigned, float value, unsigned distance) {
  return cuda_double::Block::current().shuffle_down(value, distance);
}
