// The network around the kernels: which build of them runs, and how a batch
// is split over threads. The layers themselves are in fused_kernels.cpp.
#include "cpu/fused.hpp"

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "cpu/isa.hpp"

namespace lenet {
namespace {

FusedVariants variants_for(const std::string& isa) {
#if defined(__x86_64__)
  if (isa == "avx512") return avx512::kFused;
  if (isa == "avx2") return avx2::kFused;
  if (isa == "sse2") return sse2::kFused;
#elif defined(__aarch64__)
  if (isa == "neon") return neon::kFused;
#endif
  throw std::logic_error("no kernels were compiled for " + isa);
}

FusedKernels kernels_for(const std::string& isa, const std::string& variant) {
  const FusedVariants variants = variants_for(isa);
  if (variant.empty()) return variants.float32;
  if (variant == "int16") return variants.int16;
  throw std::invalid_argument("fused has no variant '" + variant + "'; expected '' or 'int16'");
}

}  // namespace

Fused::Fused(const Weights& weights, int threads, const std::string& variant)
    : isa_(choose_isa()),
      variant_(variant),
      threads_(threads),
      kernels_(kernels_for(isa_, variant)),
      packed_(kernels_.packed_bytes) {
  if (threads < 1) throw std::invalid_argument("expected at least 1 thread");
  kernels_.pack(weights, packed_.get());
}

void Fused::infer(const float* images, std::size_t count, float* probabilities) const {
  const auto share = [&](std::size_t from, std::size_t to) {
    // By turns: what this core's cache still holds is what the last image read last.
    thread_local bool backwards = false;
    for (std::size_t i = from; i < to; ++i, backwards = !backwards) {
      kernels_.forward(packed_.get(), images + i * kImagePixels, backwards,
                       probabilities + i * kClasses);
    }
  };
  const std::size_t shares = std::min<std::size_t>(static_cast<std::size_t>(threads_), count);
  if (shares <= 1) return share(0, count);

  std::vector<std::thread> others;
  others.reserve(shares);
  const auto start = [&](std::size_t i) { return count * i / shares; };
  for (std::size_t i = 1; i < shares; ++i) {
    try {
      others.emplace_back(share, start(i), start(i + 1));
    } catch (const std::system_error&) {  // no thread to be had: this one does it
      share(start(i), start(i + 1));
    }
  }
  share(0, start(1));
  for (std::thread& other : others) other.join();
}

std::vector<Layer> Fused::layers(const float* image) const {
  const auto trace = std::make_unique<FusedTrace>();
  kernels_.trace(packed_.get(), image, *trace);
  const auto values = [](const auto& array) {
    return std::vector<float>(std::begin(array), std::end(array));
  };
  std::vector<float> probabilities(kClasses);
  infer(image, 1, probabilities.data());
  return {
      {"pool1", values(trace->pool1)},  {"pool2", values(trace->pool2)},
      {"fc1", values(trace->fc1)},      {"fc2", values(trace->fc2)},
      {"probabilities", probabilities},
  };
}

std::map<std::string, std::string> Fused::describe() const {
  return {
      {"isa", isa_},
      {"vector width", std::to_string(32 * kernels_.lanes) + " bits"},
      {"variant", variant_.empty() ? "float32" : variant_},
      {"convolution", "Winograd F(4,5) and F(4x4,5x5), fused with pooling"},
      {"threads", std::to_string(threads_)},
#if defined(__clang__)
      {"compiler", "clang " __clang_version__},
#else
      {"compiler", "gcc " __VERSION__},
#endif
  };
}

}  // namespace lenet
