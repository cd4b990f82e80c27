// How blocks of a cluster and the host hear of each other: words that carry their own number, and
// barriers that count the bytes which have arrived.
#pragma once

#include "cuda/mailbox.hpp"

namespace lenet::gpu {

// with the host
// ------------------------------------------------------------------------------------

__device__ inline Stamp stamp_of(Word word) { return static_cast<Stamp>(word >> 32); }
__device__ inline float value_of(Word word) { return __uint_as_float(static_cast<unsigned>(word)); }

__device__ inline void store_word(Word* to, float value, Stamp stamp) {
  const Word word = static_cast<Word>(stamp) << 32 | __float_as_uint(value);
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory");
}

struct TwoWords {
  Word first, second;
};

__device__ inline TwoWords load_words(const Word* from) {
  TwoWords words;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(words.first), "=l"(words.second)
               : "l"(from)
               : "memory");
  return words;
}

/// After this the host sees `value`, and all that this thread knows to be written before.
__device__ inline void release_to_host(unsigned* flag, unsigned value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

__device__ inline unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// Of this multiprocessor; they wrap.
__device__ inline unsigned cycles() {
  unsigned now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now));
  return now;
}

// between blocks
// -----------------------------------------------------------------------------------

/// A place in shared memory: this block's own, or with `in` another's.
struct Place {
  unsigned address;

  __device__ explicit Place(unsigned shared) : address(shared) {}
  __device__ explicit Place(const void* pointer)
      : address(static_cast<unsigned>(__cvta_generic_to_shared(pointer))) {}
  __device__ Place in(unsigned block) const {
    unsigned mapped;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(block));
    return Place(mapped);
  }
};

/// Counts the bytes that others send; a phase of it is over when all that are expected are there.
struct Arrivals {
  Word state;

  __device__ void init() {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(Place(this).address) : "memory");
  }
  /// By one thread, once a phase.
  __device__ void expect(unsigned bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(Place(this).address),
        "r"(bytes)
        : "memory");
  }
  /// Whether the phase of this parity is over; what was sent in it can be read then. An acquire of
  /// the block is enough: what was sent lies in its own shared memory, before which is no cache.
  __device__ bool over(unsigned parity) const {
    unsigned yes;
    asm volatile(
        "{ .reg .pred p;\n"
        "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p; }"
        : "=r"(yes)
        : "r"(Place(this).address), "r"(parity)
        : "memory");
    return yes != 0;
  }
  /// By a warp that has nothing else to do: it sleeps meanwhile, for as long as the GPU sees fit.
  __device__ void wait(unsigned parity) const {
    unsigned yes;
    do {
      asm volatile(
          "{ .reg .pred p;\n"
          "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
          "selp.u32 %0, 1, 0, p; }"
          : "=r"(yes)
          : "r"(Place(this).address), "r"(parity)
          : "memory");
    } while (yes == 0);
  }
};

/// Writes into a block's shared memory, and counts there.
__device__ inline void send(Place to, unsigned value, Place arrivals) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to.address),
      "r"(value), "r"(arrivals.address)
      : "memory");
}
__device__ inline void send(Place to, float2 value, Place arrivals) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(
          to.address),
      "f"(value.x), "f"(value.y), "r"(arrivals.address)
      : "memory");
}

/// The first half of the barrier that lets no block write into another before that has begun and
/// has made its barriers. Nothing else is ordered by it, so it waits for no read on its way.
__device__ inline void begin_in_cluster() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ inline void wait_for_the_cluster() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

}  // namespace lenet::gpu
