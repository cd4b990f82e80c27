// Vectors of LENET_LANES floats in GCC's vector extensions, and the ways to shuffle them.
//
// For a file that is compiled once an instruction set: LENET_ISA names it, and all is internal to
// that file, so that the linker cannot take another instruction set's copy.
#pragma once

namespace lenet::LENET_ISA {
namespace {

constexpr int kLanes = LENET_LANES;

template <int Lanes>
struct FloatVector {
  typedef float type __attribute__((vector_size(4 * Lanes)));
};
typedef FloatVector<kLanes>::type Vec;
typedef FloatVector<4>::type Quad;
typedef float UnalignedVec __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
typedef float UnalignedQuad __attribute__((vector_size(16), aligned(4), may_alias));

inline Vec load(const float* from) { return *reinterpret_cast<const UnalignedVec*>(from); }
inline Quad load_quad(const float* from) { return *reinterpret_cast<const UnalignedQuad*>(from); }
inline void store(float* to, Vec v) { *reinterpret_cast<UnalignedVec*>(to) = v; }
inline void store_quad(float* to, Quad v) { *reinterpret_cast<UnalignedQuad*>(to) = v; }

/// From the first to before the last.
struct Range {
  int from, to;
};

inline Vec splat(float x) { return x - Vec{}; }  // x - 0 is x, even for -0
inline Vec max(Vec a, Vec b) { return a > b ? a : b; }

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define LENET_SHUFFLE __builtin_shufflevector
#endif
#endif

/// The given lanes of a and b, counted through both.
template <int... Lanes, class V>
inline auto shuffle(V a, V b) {
#if defined(LENET_SHUFFLE)
  return LENET_SHUFFLE(a, b, Lanes...);
#else  // gcc before 12
  constexpr int kWidth = sizeof(V) / 4;
  return typename FloatVector<sizeof...(Lanes)>::type{
      (Lanes < kWidth ? a[Lanes % kWidth] : b[Lanes % kWidth])...};
#endif
}

template <int... Lanes>
struct Sequence {};
template <int Count, int... Lanes>
struct CountTo : CountTo<Count - 1, Count - 1, Lanes...> {};
template <int... Lanes>
struct CountTo<0, Lanes...> {
  typedef Sequence<Lanes...> type;
};

/// As many lanes as a has, lane i from Lane(i).
template <int (*Lane)(int), class V, int... I>
inline V permute(V a, V b, Sequence<I...>) {
  return shuffle<Lane(I)...>(a, b);
}
template <int (*Lane)(int), class V>
inline V permute(V a, V b) {
  return permute<Lane>(a, b, typename CountTo<sizeof(V) / 4>::type());
}

/// Count floats, over and over. Reads a whole vector.
template <int Count>
constexpr int repeated(int lane) {
  return lane % Count;
}
template <int Count>
inline Vec repeat(const float* from) {
  if constexpr (Count == 1) return splat(*from);
  const Vec v = load(from);
  return permute<repeated<Count>>(v, v);
}

template <class V, int... I>
inline auto join(V low, V high, Sequence<I...>) {
  return shuffle<I...>(low, high);
}
template <int Which, class V, int... I>
inline auto half(V v, Sequence<I...>) {
  return shuffle<Which* static_cast<int>(sizeof...(I)) + I...>(v, v);
}
template <int Which, class V>
inline auto half(V v) {
  return half<Which>(v, typename CountTo<sizeof(V) / 8>::type());
}

/// A vector of quads from different places. gcc 12 is very slow at going from 4 lanes to 16 at
/// once, so that all this goes by halves.
template <int Quads = kLanes / 4>
inline auto join_quads(const float* const* from) {
  if constexpr (Quads == 1) {
    return load_quad(from[0]);
  } else {
    return join(join_quads<Quads / 2>(from), join_quads<Quads / 2>(from + Quads / 2),
                typename CountTo<4 * Quads>::type());
  }
}

/// The quads of v, `stride` floats apart.
template <class V>
inline void store_quads(V v, float* to, int stride) {
  if constexpr (sizeof(V) == sizeof(Quad)) {
    store_quad(to, v);
  } else {
    store_quads(half<0>(v), to, stride);
    store_quads(half<1>(v), to + static_cast<int>(sizeof(V) / 32) * stride, stride);
  }
}

template <class V>
inline float sum(V v) {
  if constexpr (sizeof(V) == sizeof(Quad)) {
    return (v[0] + v[2]) + (v[1] + v[3]);
  } else {
    return sum(half<0>(v) + half<1>(v));
  }
}

/// Transposes the 4x4 floats that the same quad of four vectors makes.
template <class V>
constexpr int low_pairs(int i) {
  return i / 4 * 4 + i % 4 / 2 + i % 2 * static_cast<int>(sizeof(V) / 4);
}
template <class V>
constexpr int high_pairs(int i) {
  return low_pairs<V>(i) + 2;
}
template <class V>
constexpr int low_halves(int i) {
  return i / 4 * 4 + i % 2 + i % 4 / 2 * static_cast<int>(sizeof(V) / 4);
}
template <class V>
constexpr int high_halves(int i) {
  return low_halves<V>(i) + 2;
}
template <class V>
inline void transpose_quads(V v[4]) {
  const V low01 = permute<low_pairs<V>>(v[0], v[1]), high01 = permute<high_pairs<V>>(v[0], v[1]);
  const V low23 = permute<low_pairs<V>>(v[2], v[3]), high23 = permute<high_pairs<V>>(v[2], v[3]);
  v[0] = permute<low_halves<V>>(low01, low23);
  v[1] = permute<high_halves<V>>(low01, low23);
  v[2] = permute<low_halves<V>>(high01, high23);
  v[3] = permute<high_halves<V>>(high01, high23);
}

}  // namespace
}  // namespace lenet::LENET_ISA
