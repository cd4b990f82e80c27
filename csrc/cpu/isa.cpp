#include "cpu/isa.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace lenet {
namespace {

constexpr const char* kForce = "LENET_BENCH_ISA";

/// What runs here, widest last. __builtin_cpu_supports asks CPUID, and XGETBV whether the system
/// saves the wide registers.
std::vector<std::string> supported() {
#if defined(__x86_64__)
  std::vector<std::string> found = {"sse2"};
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    found.push_back("avx2");
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      found.push_back("avx512");
    }
  }
  return found;
#elif defined(__aarch64__)
  return {"neon"};
#else
#error "the fused backend is for x86-64 and 64-bit Arm"
#endif
}

std::string join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : ", ") + word;
  return joined;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::string choose_isa() {
  const std::vector<std::string> here = supported();
  const char* forced = std::getenv(kForce);
  if (forced == nullptr || *forced == '\0') return here.back();
  if (contains(here, forced)) return forced;
  const bool known = contains({"sse2", "avx2", "avx512", "neon"}, forced);
  throw std::runtime_error(std::string(kForce) + " asks for " + (known ? "" : "an unknown '") +
                           forced + (known ? ", which this processor lacks" : "'") +
                           "; expected one of: " + join(here));
}

}  // namespace lenet
