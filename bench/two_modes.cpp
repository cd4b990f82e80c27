// The network of `fused` with its weights in memory of several kinds, for bench/two_modes.py.
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "cpu/fused_kernels.cpp"
#include "cpu/fused_memory.cpp"

namespace lenet::LENET_ISA {
namespace {

constexpr std::size_t kHugePage = 2 << 20;

/// The system's choice of pages, small or huge; as long as the process lives.
void* mapped(bool huge) {
  constexpr std::size_t kBytes = (sizeof(Packed<Vec>) + kHugePage - 1) / kHugePage * kHugePage;
  char* const start = static_cast<char*>(map(kBytes + kHugePage));
  char* const whole = start + (kHugePage - reinterpret_cast<std::uintptr_t>(start) % kHugePage);
  madvise(whole, kBytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return whole;
}

}  // namespace
}  // namespace lenet::LENET_ISA

/// A copy of the weights in memory that is "chosen" (as the backend does), "small" or "huge".
extern "C" void* weights_in(const char* kind) {
  using namespace lenet;
  using namespace lenet::LENET_ISA;
  static const auto values = [] {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 0.05f);
    std::vector<float> made(kFc1Inputs * kFc1Outputs);
    for (float& value : made) value = normal(random);
    return made;
  }();
  static std::vector<std::unique_ptr<FusedMemory>> chosen;
  void* memory;
  if (kind[0] == 'c') {
    chosen.push_back(std::make_unique<FusedMemory>(sizeof(Packed<Vec>)));
    memory = chosen.back()->get();
  } else {
    memory = mapped(kind[0] == 'h');
  }
  const float* v = values.data();
  pack<Vec>({v, v, v, v, v, v, v, v}, memory);
  return memory;
}

/// Seconds for each of `count` images; fc1 is read backwards by turns, or always forwards.
extern "C" void seconds_for_images(const void* weights, int by_turns, int count, double* seconds) {
  using namespace lenet;
  using Clock = std::chrono::steady_clock;
  static const std::vector<float> image(kImagePixels, 0.5f);
  float probabilities[kClasses];
  for (int i = 0; i < count; ++i) {
    const auto start = Clock::now();
    LENET_ISA::forward<LENET_ISA::Vec>(weights, image.data(), by_turns && i % 2, probabilities);
    seconds[i] = std::chrono::duration<double>(Clock::now() - start).count();
  }
}

/// Seconds to write 8 KB again and again, which the first-level cache holds: no weights, no memory.
/// What slows it down is not in this program.
extern "C" double seconds_to_store() {
  using namespace lenet::LENET_ISA;
  using Clock = std::chrono::steady_clock;
  constexpr int kVectors = 8192 / sizeof(Vec), kTimes = 50;
  static volatile Vec buffer[kVectors];
  const auto start = Clock::now();
  for (int n = 0; n < kTimes; ++n) {
    for (int i = 0; i < kVectors; ++i) buffer[i] = Vec{};
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}
