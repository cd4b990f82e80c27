// What a kernel that stays on the GPU finds on the CPU: its cluster, its clock, and the host's
// memory as a GPU sees it. Include this after simt.hpp.
//
// Mapped memory is a copy here. The host's writes come in when the kernel loads with acquire, at
// system scope, a value that has changed; the kernel's go out when it stores with release. Who
// leaves out one or the other waits for ever.
#pragma once

#include <cstdlib>

#include "simt.hpp"

namespace cuda_double {

class MappedMemory {
 public:
  /// The copy's address for this address of the host's.
  void* map(void* pointer) {
    const Piece piece = mapped_piece(pointer);
    if (piece.start == nullptr) return pointer;
    if (host_.start == nullptr) {
      host_ = piece;
      lines_.resize((piece.bytes + sizeof(Line) - 1) / sizeof(Line));
      mine_ = lines_.front().bytes;
      std::copy_n(piece.start, piece.bytes, mine_);
      met_.assign(piece.start, piece.start + piece.bytes);
    }
    return mine_ + (static_cast<char*>(pointer) - piece.start);
  }

  template <class Value>
  Value acquire(const Value* flag) {
    const Value value = __atomic_load_n(hosts(flag), __ATOMIC_ACQUIRE);
    if (value != *flag) {
      for (std::size_t i = 0; i < met_.size(); ++i) {
        if (mine_[i] == met_[i]) mine_[i] = met_[i] = host_.start[i];
      }
    }
    return value;
  }

  template <class Value>
  void release(Value* flag, Value value) {
    for (std::size_t i = 0; i < met_.size(); ++i) {
      if (mine_[i] != met_[i]) host_.start[i] = met_[i] = mine_[i];
    }
    *flag = value;
    std::memcpy(met_.data() + offset(flag), &value, sizeof value);
    __atomic_store_n(hosts(flag), value, __ATOMIC_RELEASE);
  }

  static inline thread_local MappedMemory* here = nullptr;

 private:
  std::size_t offset(const void* flag) const {
    return static_cast<const char*>(flag) - mine_;
  }
  template <class Value>
  Value* hosts(const Value* flag) {
    return reinterpret_cast<Value*>(host_.start + offset(flag));
  }

  /// CUDA promises as much of a piece's first address.
  struct alignas(256) Line {
    char bytes[256];
  };

  Piece host_;
  std::vector<Line> lines_;
  char* mine_ = nullptr;   // the kernel's copy
  std::vector<char> met_;  // it as both sides last knew it
};

/// The `bind` of a kernel that runs as one cluster and stays; `shared` tells its shared memory.
template <auto kernel, SharedMemory (*shared)()>
struct Resident;

template <class... Parameters, void (*kernel)(Parameters...), SharedMemory (*shared)()>
struct Resident<kernel, shared> {
  static std::function<void()> bind(void** arguments, unsigned blocks, unsigned threads) {
    const std::tuple<Parameters...> copies = Launch<kernel>::copy(arguments);
    return [=] {
      MappedMemory memory;
      MappedMemory::here = &memory;
      const auto bring_in = [&](auto argument) {
        if constexpr (std::is_pointer_v<decltype(argument)>) {
          void* pointer = const_cast<void*>(static_cast<const void*>(argument));
          return static_cast<decltype(argument)>(memory.map(behind_the_guard(pointer)));
        } else {
          return argument;
        }
      };
      const auto mine = std::apply(
          [&](auto... each) { return std::tuple<Parameters...>(bring_in(each)...); }, copies);
      const std::function<void()> body = [&] { std::apply(kernel, mine); };
      Cluster run(blocks, threads, shared(), body);
    };
  }
};

}  // namespace cuda_double

inline unsigned __clusterRelativeBlockRank() { return cuda_double::Cluster::current().block(); }
inline void __cluster_barrier_arrive() {
  cuda_double::Cluster::current().arrive_at_cluster_barrier();
}
inline void __cluster_barrier_wait() { cuda_double::Cluster::current().wait_at_cluster_barrier(); }
inline void* __cluster_map_shared_rank(const void* variable, unsigned block) {
  return cuda_double::Cluster::current().in_block(variable, block);
}

inline void __nanosleep(unsigned nanoseconds) { cuda_double::Cluster::current().rest(nanoseconds); }

/// The GPU's clock goes as much slower as its arithmetic does.
inline unsigned long long __globaltimer() {
  const char* slower = std::getenv("CUDA_DOUBLE_SLOWER");
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::nanoseconds(now).count() / (slower != nullptr ? std::atoi(slower) : 20);
}

inline float4 __ldcv(const float4* address) { return *address; }

#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_THREAD_SCOPE_SYSTEM 0

template <class Value>
Value __nv_atomic_load_n(Value* flag, int, int) {
  return cuda_double::MappedMemory::here->acquire(flag);
}
template <class Value>
void __nv_atomic_store_n(Value* flag, Value value, int, int) {
  cuda_double::MappedMemory::here->release(flag, value);
}
