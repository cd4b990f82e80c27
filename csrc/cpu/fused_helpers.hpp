// Threads that take part in a caller's work, where its parts are so short that starting a thread,
// or waking one, would take longer than they do.
#pragma once

#include <memory>

namespace lenet {

/// Work in stages, one after another, each in as many parts as there are threads. Parts must not
/// throw.
struct FusedWork {
  int stages;
  void (*run)(const void* context, int stage, int part);
  const void* context;
};

/// The caller's thread does part 0 of each stage, and every other part that its thread has not
/// begun: nobody waits for a thread that sleeps or has no core. After some work the threads watch
/// for more for a fifth of a millisecond, then they sleep until there is some.
class FusedHelpers {
 public:
  /// `threads` with the caller's; as many as the system gives.
  explicit FusedHelpers(int threads);
  ~FusedHelpers();
  FusedHelpers(const FusedHelpers&) = delete;
  FusedHelpers& operator=(const FusedHelpers&) = delete;

  /// All of the work; or none of it and false, where another caller's is under way, or this process
  /// is a fork of the one that has the threads.
  bool run(const FusedWork& work);

 private:
  struct Team;
  std::unique_ptr<Team> team_;
};

}  // namespace lenet
