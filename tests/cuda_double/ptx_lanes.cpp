// What a warp computes lane by lane: one function an instruction, which g++ turns into vectors.
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "grid.hpp"

namespace cuda_double {
namespace {

using u16 = std::uint16_t;
using s16 = std::int16_t;
using u32 = std::uint32_t;
using s32 = std::int32_t;
using u64 = std::uint64_t;
using s64 = std::int64_t;
enum class Bool : u32 { no, yes };

using Table = std::map<std::string, Arithmetic>;

template <class F>
F* the;  // a lambda without a capture; only its type matters

template <class D>
void keep(Warp& w, u32 place, const D (&result)[32]) {
  D* const to = w.lanes<D>(place);
  if (w.mask == ~0u) {
    std::memcpy(to, result, sizeof result);
  } else {
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (w.mask >> lane & 1) to[lane] = result[lane];
    }
  }
}

template <class F, class D, class... A, std::size_t... k>
void each_lane(Warp& w, const Instruction& i, std::index_sequence<k...>) {
  const std::tuple<const A*...> from{w.lanes<A>(i.at[k + 1])...};
  D result[32];
  for (unsigned lane = 0; lane < 32; ++lane) result[lane] = (*the<F>)(std::get<k>(from)[lane]...);
  keep(w, i.at[0], result);
}

template <class F, class D, class... A>
void step(Warp& w, const Instruction& i) {
  each_lane<F, D, A...>(w, i, std::index_sequence_for<A...>());
}

template <class F, class D, class... A>
Arithmetic made(D (F::*)(A...) const) {
  return {&step<F, D, A...>, {sizeof(D), sizeof(A)...}};
}

Table table;

template <class F>
void define(const std::string& name, F f) {
  static F kept = f;
  the<F> = &kept;
  table[name] = made(&F::operator());
}

template <class T>
void copies(const std::string& type) {
  define("mov." + type, [](T a) { return a; });
  define("selp." + type, [](T a, T b, Bool p) { return p == Bool::yes ? a : b; });
}

template <class T>
void comparisons(const std::string& type) {
  define("setp.eq." + type, [](T a, T b) { return Bool(a == b); });
  define("setp.ne." + type, [](T a, T b) { return Bool(a < b || a > b); });
  define("setp.lt." + type, [](T a, T b) { return Bool(a < b); });
  define("setp.le." + type, [](T a, T b) { return Bool(a <= b); });
  define("setp.gt." + type, [](T a, T b) { return Bool(a > b); });
  define("setp.ge." + type, [](T a, T b) { return Bool(a >= b); });
  define("setp.neu." + type, [](T a, T b) { return Bool(a != b); });
  define("setp.equ." + type, [](T a, T b) { return Bool(!(a < b || a > b)); });
  define("setp.ltu." + type, [](T a, T b) { return Bool(!(a >= b)); });
  define("setp.leu." + type, [](T a, T b) { return Bool(!(a > b)); });
  define("setp.gtu." + type, [](T a, T b) { return Bool(!(a <= b)); });
  define("setp.geu." + type, [](T a, T b) { return Bool(!(a < b)); });
}

template <class T>
void bits(const std::string& type) {
  constexpr u32 kBits = sizeof(T) * 8;
  copies<T>("b" + type);
  comparisons<T>("b" + type);
  define("and.b" + type, [](T a, T b) { return T(a & b); });
  define("or.b" + type, [](T a, T b) { return T(a | b); });
  define("xor.b" + type, [](T a, T b) { return T(a ^ b); });
  define("not.b" + type, [](T a) { return T(~a); });
  define("shl.b" + type, [](T a, u32 b) { return b < kBits ? T(a << b) : T(0); });
}

template <class T, class Wide>
void integers(const std::string& type) {
  using U = std::make_unsigned_t<T>;
  constexpr u32 kBits = sizeof(T) * 8;
  const bool first = std::is_same_v<T, U>;
  copies<T>(type);
  comparisons<T>(type);
  define("add." + type, [](U a, U b) { return U(a + b); });
  define("sub." + type, [](U a, U b) { return U(a - b); });
  define("neg." + type, [](U a) { return U(0 - a); });
  define("mul.lo." + type, [](U a, U b) { return U(u64(a) * b); });
  define("mad.lo." + type, [](U a, U b, U c) { return U(u64(a) * b + c); });
  define("min." + type, [](T a, T b) { return a < b ? a : b; });
  define("max." + type, [](T a, T b) { return a > b ? a : b; });
  define("div." + type, [](T a, T b) { return b != 0 ? T(a / b) : T(-1); });
  define("rem." + type, [](T a, T b) { return b != 0 ? T(a % b) : a; });
  define("shr." + type,
         [](T a, u32 b) { return T(a >> (b < kBits ? b : kBits - 1) >> (b >= kBits)); });
  define("mul.hi." + type, [](T a, T b) { return T(Wide(a) * Wide(b) >> kBits); });
  if (first)
    define("shr.b" + type.substr(1), [](U a, u32 b) { return b < kBits ? U(a >> b) : U(0); });
  if constexpr (sizeof(Wide) <= 8) {
    define("mul.wide." + type, [](T a, T b) { return Wide(Wide(a) * Wide(b)); });
    define("mad.wide." + type, [](T a, T b, Wide c) { return Wide(Wide(a) * Wide(b) + c); });
  }
}

template <class D, class S>
void convert(const std::string& to, const std::string& from) {
  define("cvt." + to + "." + from, [](S a) { return D(a); });
}

template <class D>
void convert_integers(const std::string& to) {
  convert<D, u16>(to, "u16"), convert<D, s16>(to, "s16");
  convert<D, u32>(to, "u32"), convert<D, s32>(to, "s32");
  convert<D, u64>(to, "u64"), convert<D, s64>(to, "s64");
}

float larger(float a, float b) { return b != b || a > b ? a : b; }
float smaller(float a, float b) { return b != b || a < b ? a : b; }

void floats() {
  copies<float>("f32");
  comparisons<float>("f32");
  for (const std::string rounding : {"", ".rn", ".ftz", ".rn.ftz"}) {
    define("add" + rounding + ".f32", [](float a, float b) { return a + b; });
    define("sub" + rounding + ".f32", [](float a, float b) { return a - b; });
    define("mul" + rounding + ".f32", [](float a, float b) { return a * b; });
    define("div" + rounding + ".f32", [](float a, float b) { return a / b; });
  }
  define("fma.rn.f32", [](float a, float b, float c) { return std::fmaf(a, b, c); });
  define("fma.rm.f32", [](float a, float b, float c) {  // rounds down
    const double exact = double(a) * b + c;
    const float near = float(exact);
    return near > exact ? std::nextafterf(near, -std::numeric_limits<float>::infinity()) : near;
  });
  define("max.f32", [](float a, float b) { return larger(a, b); });
  define("min.f32", [](float a, float b) { return smaller(a, b); });
  define("neg.f32", [](float a) { return -a; });
  define("abs.f32", [](float a) { return std::fabs(a); });
  define("rcp.rn.f32", [](float a) { return 1 / a; });
  define("rcp.approx.ftz.f32", [](float a) { return 1 / a; });
  define("ex2.approx.ftz.f32", [](float a) { return std::exp2(a); });
  define("ex2.approx.f32", [](float a) { return std::exp2(a); });
  define("cvt.sat.f32.f32", [](float a) { return larger(0.0f, smaller(a, 1.0f)); });
  define("cvt.rn.f32.s32", [](s32 a) { return float(a); });
  define("cvt.rn.f32.u64", [](u64 a) { return float(a); });
  define("cvt.rn.f32.s64", [](s64 a) { return float(a); });
  define("cvt.rn.f32.u32", [](u32 a) { return float(a); });
}

/// Puts the lowest `count` bits of a part into a whole.
template <class T>
void insert_bits(const std::string& type) {
  define("bfi." + type, [](T part, T whole, u32 at, u32 count) {
    const T ones = T((count < sizeof(T) * 8 ? T(1) << count : 0) - 1) << at;
    return T((whole & ~ones) | (part << at & ones));
  });
}

void predicates() {
  define("mov.pred", [](Bool a) { return a; });
  define("and.pred", [](Bool a, Bool b) { return Bool(u32(a) & u32(b)); });
  define("or.pred", [](Bool a, Bool b) { return Bool(u32(a) | u32(b)); });
  define("xor.pred", [](Bool a, Bool b) { return Bool(u32(a) ^ u32(b)); });
  define("not.pred", [](Bool a) { return Bool(u32(a) ^ 1); });
}

/// Halves into a whole and back: PTX writes them as a `mov` with a vector.
void halves() {
  define("pack.b64", [](u32 low, u32 high) { return u64(high) << 32 | low; });
  define("pack.b32", [](u16 low, u16 high) { return u32(high) << 16 | low; });
  define("low.b64", [](u64 whole) { return u32(whole); });
  define("high.b64", [](u64 whole) { return u32(whole >> 32); });
}

void fill() {
  predicates();
  bits<u16>("16"), bits<u32>("32"), bits<u64>("64");
  integers<u16, u32>("u16"), integers<s16, s32>("s16");
  integers<u32, u64>("u32"), integers<s32, s64>("s32");
  integers<u64, unsigned __int128>("u64"), integers<s64, __int128>("s64");
  convert_integers<u16>("u16"), convert_integers<s16>("s16");
  convert_integers<u32>("u32"), convert_integers<s32>("s32");
  convert_integers<u64>("u64"), convert_integers<s64>("s64");
  insert_bits<u32>("b32"), insert_bits<u64>("b64");
  floats();
  halves();
}

}  // namespace

const Arithmetic* find_arithmetic(const std::string& name) {
  static const bool filled = (fill(), true);
  (void)filled;
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace cuda_double
