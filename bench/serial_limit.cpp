// What this core can do at most, for bench/serial_limit.py: multiply-adds a second with vectors
// of LENET_LANES floats, and bytes read a second from a buffer that is read again and again.
#include <chrono>
#include <cstddef>

namespace {

typedef float Vec __attribute__((vector_size(4 * LENET_LANES)));
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

volatile float sink;  // keeps what is computed from being optimised away

#if defined(__x86_64__)
#define IN_REGISTERS(...) asm("" : __VA_ARGS__)
#define REGISTER(v) "+v"(v)
#else
#define IN_REGISTERS(...) asm("" : __VA_ARGS__)
#define REGISTER(v) "+w"(v)
#endif

}  // namespace

/// Seconds for `times` times ten multiply-adds of a vector, ten chains side by side.
extern "C" double seconds_to_multiply(long times) {
  const Vec b = Vec{} + 0.999f, c = Vec{} + 1e-3f;
  Vec s0 = c, s1 = c, s2 = c, s3 = c, s4 = c, s5 = c, s6 = c, s7 = c, s8 = c, s9 = c;
  const auto start = Clock::now();
  for (long i = 0; i < times; ++i) {
    s0 = s0 * b + c, s1 = s1 * b + c, s2 = s2 * b + c, s3 = s3 * b + c, s4 = s4 * b + c;
    s5 = s5 * b + c, s6 = s6 * b + c, s7 = s7 * b + c, s8 = s8 * b + c, s9 = s9 * b + c;
    IN_REGISTERS(REGISTER(s0), REGISTER(s1), REGISTER(s2), REGISTER(s3), REGISTER(s4));
    IN_REGISTERS(REGISTER(s5), REGISTER(s6), REGISTER(s7), REGISTER(s8), REGISTER(s9));
  }
  const double seconds = seconds_since(start);
  const Vec total = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9;
  sink = total[0];
  return seconds;
}

/// Seconds to read `bytes` (whole groups of eight vectors) once, in order.
extern "C" double seconds_to_read(const void* buffer, std::size_t bytes) {
  const Vec* from = static_cast<const Vec*>(buffer);
  const Vec* const end = from + bytes / sizeof(Vec);
  Vec s0{}, s1{}, s2{}, s3{}, s4{}, s5{}, s6{}, s7{};
  const auto start = Clock::now();
  for (; from != end; from += 8) {
    s0 += from[0], s1 += from[1], s2 += from[2], s3 += from[3];
    s4 += from[4], s5 += from[5], s6 += from[6], s7 += from[7];
  }
  const double seconds = seconds_since(start);
  const Vec total = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7;
  sink = total[0];
  return seconds;
}
