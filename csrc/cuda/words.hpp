// The host's side of mailbox.hpp: words that carry their own number.
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cuda/errors.hpp"
#include "cuda/mailbox.hpp"
#include "cuda/session.hpp"

namespace lenet::cuda {

using gpu::Stamp;
using gpu::Word;

/// Writes a multiple of four. Each word is written whole: 16 aligned bytes are two whole words on
/// any x86.
inline void write_words(Word* to, const float* from, std::size_t count, Stamp stamp) {
#ifdef __SSE2__
  const __m128 stamps = _mm_castsi128_ps(_mm_set1_epi32(static_cast<int>(stamp)));
  for (std::size_t i = 0; i < count; i += 4) {
    const __m128 values = _mm_loadu_ps(from + i);
    _mm_store_ps(reinterpret_cast<float*>(to + i), _mm_unpacklo_ps(values, stamps));
    _mm_store_ps(reinterpret_cast<float*>(to + i + 2), _mm_unpackhi_ps(values, stamps));
  }
#else
  for (std::size_t i = 0; i < count; ++i) {
    unsigned bits;
    std::memcpy(&bits, from + i, sizeof bits);
    __atomic_store_n(to + i, static_cast<Word>(stamp) << 32 | bits, __ATOMIC_RELAXED);
  }
#endif
}

/// Whether all words have this stamp; their values then.
inline bool read_words(const Word* from, float* to, std::size_t count, Stamp stamp) {
  for (std::size_t i = 0; i < count; ++i) {
    const Word word = __atomic_load_n(from + i, __ATOMIC_ACQUIRE);
    if (word >> 32 != stamp) return false;
    const unsigned bits = static_cast<unsigned>(word);
    std::memcpy(to + i, &bits, sizeof bits);
  }
  return true;
}

/// Asks without a pause whether it is done, and looks every few milliseconds whether it ever can
/// be.
template <class Done, class Look>
void spin_until(const Done& done, const Look& look) {
  constexpr unsigned kSpins = 100'000;
  for (unsigned spin = 1; !done(); ++spin) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
    if (spin % kSpins == 0) look();
  }
}

/// What a kernel marks its words with where a launch is one request.
constexpr Stamp kDone = 1;

/// Polls ten words that a kernel, put on the stream by `enqueue`, marks with kDone: they are here
/// some microseconds before the stream would be known to rest.
template <class Enqueue>
void launch_and_poll(cudaStream_t stream, Word* words, float* ten, const Enqueue& enqueue) {
  std::fill_n(words, kClasses, Word{0});
  enqueue();
  const auto answered = [&] { return read_words(words, ten, kClasses, kDone); };
  spin_until(answered, [&] {
    if (is_at_rest(stream) && !answered()) {
      throw CallFailed("the kernels ended and left no answer");
    }
  });
}

}  // namespace lenet::cuda
