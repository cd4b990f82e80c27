// Every stage of every work has a number, its step, one higher than the step before. A thread
// claims a part by a compare-and-swap of the part's `claimed`, from the step before to this step.
// One thread succeeds and does the part; the others skip it. When the part is finished, its `done`
// gets the step's number. The caller waits for the `done` of every part before it changes the
// work's fields, so a thread that has claimed a part can read them; a thread that comes too late
// cannot claim.
#include "cpu/fused_helpers.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace lenet {
namespace {

using Step = std::uint64_t;
using Clock = std::chrono::steady_clock;

int usable_cores() {
#if defined(__linux__)
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

/// The pauses of one wait: short ones, then such that leave the core to others; only those where
/// threads have to share cores.
class Waiting {
 public:
  explicit Waiting(bool share_cores) : pauses_(share_cores ? kShort : 0) {}

  void pause() {
    if (++pauses_ > kShort) {
      std::this_thread::yield();
    } else {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("yield");
#endif
    }
  }

  /// Looks at the clock now and then only.
  bool is_over(Clock::time_point end) const { return pauses_ % 64 == 0 && Clock::now() > end; }

 private:
  static constexpr int kShort = 2000;
  std::int64_t pauses_;
};

struct alignas(64) Part {
  std::atomic<Step> claimed{0}, done{0};

  bool claim(Step step) {
    Step before = step - 1;
    return claimed.load(std::memory_order_relaxed) == before &&
           claimed.compare_exchange_strong(before, step, std::memory_order_acq_rel);
  }
};

/// A work as the threads learn of it, in one word: its first step and how many there are.
struct Announced {
  static constexpr int kBits = 4;
  Step first;
  int stages;

  static Announced from(Step word) {
    return {word >> kBits, static_cast<int>(word & ((1 << kBits) - 1))};
  }
  Step word() const { return first << kBits | static_cast<Step>(stages); }
};

constexpr Step kNothingYet = Step{1} << Announced::kBits;  // so that steps begin with 1
constexpr Step kStop = 0;

std::atomic<int> forks{0};  // between this process and the first

/// Threads that start meanwhile leave signals to the others, where Python sees to them.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

struct FusedHelpers::Team {
  std::vector<Part> parts;
  const bool share_cores;
  const int forks_before = forks;
  std::mutex busy;  // with a caller
  FusedWork work{};
  alignas(64) std::atomic<Step> announced{kNothingYet};
  std::atomic<int> asleep{0};
  std::mutex mutex;  // of those asleep
  std::condition_variable wake;
  std::vector<std::thread> threads;

  explicit Team(int count)
      : parts(static_cast<std::size_t>(count)), share_cores(count > usable_cores()) {}

  void lead(const FusedWork& given) {
    const Announced last = Announced::from(announced);
    const Step first = last.first + static_cast<Step>(last.stages);
    work = given;
    announce(Announced{first, given.stages}.word());
    for (int stage = 0; stage < given.stages; ++stage) {
      const Step step = first + static_cast<Step>(stage);
      for (std::size_t part = 0; part < parts.size(); ++part) do_part(part, step, stage);
      wait_until_done(step);
    }
  }

  void help(std::size_t part) {
    for (Step heard = kNothingYet; (heard = next_after(heard)) != kStop;) {
      const auto [first, stages] = Announced::from(heard);
      for (int stage = 0; stage < stages; ++stage) {
        const Step step = first + static_cast<Step>(stage);
        if (stage > 0) wait_until_done(step - 1);
        do_part(part, step, stage);
      }
    }
  }

  void do_part(std::size_t part, Step step, int stage) {
    if (!parts[part].claim(step)) return;
    work.run(work.context, stage, static_cast<int>(part));
    parts[part].done.store(step, std::memory_order_release);
  }

  void wait_until_done(Step step) {
    Waiting waiting(share_cores);
    for (const Part& part : parts) {
      while (part.done.load(std::memory_order_acquire) < step) waiting.pause();
    }
  }

  void announce(Step word) {
    announced = word;
    if (asleep == 0) return;
    {
      const std::lock_guard lock(mutex);
    }  // who is about to sleep does so first
    wake.notify_all();
  }

  Step next_after(Step heard) {
    const Clock::time_point end = Clock::now() + std::chrono::microseconds(200);
    for (Waiting waiting(share_cores); !waiting.is_over(end); waiting.pause()) {
      const Step word = announced.load(std::memory_order_acquire);
      if (word != heard) return word;
    }
    std::unique_lock lock(mutex);
    ++asleep;
    wake.wait(lock, [&] { return announced != heard; });
    --asleep;
    return announced;
  }
};

FusedHelpers::FusedHelpers(int threads) : team_(std::make_unique<Team>(threads)) {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
  static_cast<void>(registered);
  const BlockedSignals blocked;
  Team& team = *team_;
  for (std::size_t part = 1; part < team.parts.size(); ++part) {
    try {
      team.threads.emplace_back([&team, part] { team.help(part); });
    } catch (const std::system_error&) {  // no thread to be had: the caller does its part
      break;
    }
  }
}

FusedHelpers::~FusedHelpers() {
  if (team_->forks_before != forks) {  // its threads are another process's: nothing to be joined
    static_cast<void>(team_.release());
    return;
  }
  team_->announce(kStop);
  for (std::thread& thread : team_->threads) thread.join();
}

bool FusedHelpers::run(const FusedWork& work) {
  if (team_->forks_before != forks) return false;
  const std::unique_lock lock(team_->busy, std::try_to_lock);
  if (!lock) return false;
  team_->lead(work);
  return true;
}

}  // namespace lenet
