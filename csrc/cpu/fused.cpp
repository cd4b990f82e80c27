// The network around the kernels: which build of them runs, and how threads share an image or a
// batch. The layers themselves are in fused_kernels.cpp.
#include "cpu/fused.hpp"

#include <algorithm>
#include <stdexcept>

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

FusedKernels kernels_for(const std::string& isa, Fused::Variant variant) {
  const FusedVariants variants = variants_for(isa);
  return variant == Fused::Variant::kInt16 ? variants.int16 : variants.float32;
}

/// An image whose stages the threads share.
struct OneImage {
  const FusedKernels& kernels;
  const void* packed;
  const float* image;
  int parts;
  bool backwards;
  FusedShared& shared;
};

void run_stage(const void* one_image, int stage, int part) {
  const OneImage& one = *static_cast<const OneImage*>(one_image);
  const FusedPart of_stage = {part, one.parts, one.backwards};
  one.kernels.forward_part(one.packed, stage, of_stage, one.image, one.shared);
}

/// Many images, of which each thread has a range, with `at_once` of the activations for itself.
struct ManyImages {
  const FusedKernels& kernels;
  const void* packed;
  const float* images;
  std::size_t count;
  float* probabilities;
  std::size_t parts, at_once;
  FusedActivations* activations;
};

/// Block by block, so that a call takes no more memory for many images than for a few.
void run_range(const void* many_images, int, int part) {
  const ManyImages& many = *static_cast<const ManyImages*>(many_images);
  const auto index = static_cast<std::size_t>(part);
  FusedActivations* const activations = many.activations + index * many.at_once;
  const std::size_t end = many.count * (index + 1) / many.parts;
  for (std::size_t from = many.count * index / many.parts; from < end; from += many.at_once) {
    const auto count = static_cast<int>(std::min(many.at_once, end - from));
    many.kernels.forward_all(many.packed, many.images + from * kImagePixels, count, activations,
                             many.probabilities + from * kClasses);
  }
}

}  // namespace

Fused::Fused(const Weights& weights, int threads, Variant variant)
    : isa_(choose_isa()),
      variant_(variant),
      threads_(threads),
      kernels_(kernels_for(isa_, variant)),
      packed_(kernels_.packed_bytes) {
  if (threads < 1) throw std::invalid_argument("expected at least 1 thread");
  kernels_.pack(weights, packed_.get());
  if (threads > 1) helpers_ = std::make_unique<FusedHelpers>(threads);
}

void Fused::infer(const float* images, std::size_t count, float* probabilities) const {
  if (count > 1) return infer_many(images, count, probabilities);
  if (count == 0) return;
  // By turns: what a core's cache still holds is what the last image read last. The turn is the
  // thread's: two callers of one network would take turns with each other. So two networks that a
  // thread calls in turn are each read the same way always.
  thread_local bool backwards = false;
  backwards = !backwards;
  if (helpers_ != nullptr && infer_shared(images, backwards, probabilities)) return;
  kernels_.forward(packed_.get(), images, backwards, probabilities);
}

bool Fused::infer_shared(const float* image, bool backwards, float* probabilities) const {
  FusedShared shared;
  const OneImage one = {kernels_, packed_.get(), image, threads_, backwards, shared};
  if (!helpers_->run({kFusedStages, run_stage, &one})) return false;
  kernels_.finish(packed_.get(), shared.activations, probabilities);
  return true;
}

void Fused::infer_many(const float* images, std::size_t count, float* probabilities) const {
  constexpr std::size_t kMostAtOnce = 64;  // whose activations, 330 KB, a core's caches still hold
  const auto parts = static_cast<std::size_t>(threads_);
  const std::size_t at_once = std::min(kMostAtOnce, (count + parts - 1) / parts);
  const std::unique_ptr<FusedActivations[]> activations(new FusedActivations[parts * at_once]);
  const ManyImages many = {kernels_,      packed_.get(), images,  count,
                           probabilities, parts,         at_once, activations.get()};
  if (helpers_ != nullptr && helpers_->run({1, run_range, &many})) return;
  for (int part = 0; part < threads_; ++part) run_range(&many, 0, part);
}

}  // namespace lenet
