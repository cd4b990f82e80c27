// lenet_bench._fused
#include "cpu/fused.hpp"

#include <memory>

#include "bindings/backend.hpp"

namespace lenet {

template <>
struct VariantNames<Fused::Variant> {
  using Variant = Fused::Variant;
  static constexpr NamedVariant<Variant> kAll[] = {{"", Variant::kFloat32},
                                                   {"int16", Variant::kInt16}};
};

namespace {

/// The network, and what only the harness asks of it.
class FusedBackend : public Fused {
 public:
  using Fused::Fused;

  std::vector<Layer> layers(const float* image) const {
    const auto traced = std::make_unique<FusedTrace>();
    trace(image, *traced);
    float probabilities[kClasses];
    infer(image, 1, probabilities);
    const auto values = [](const auto& of) { return std::vector(std::begin(of), std::end(of)); };
    return {
        {"pool1", values(traced->pool1)},
        {"pool2", values(traced->pool2)},
        {"fc1", values(traced->fc1)},
        {"fc2", values(traced->fc2)},
        {"probabilities", values(probabilities)},
    };
  }

  std::map<std::string, std::string> describe() const {
    return {
        {"isa", isa()},
        {"vector width", std::to_string(32 * lanes()) + " bits"},
        {"variant", variant() == Variant::kInt16 ? "int16" : "float32"},
        {"convolution", "Winograd F(4,5) and F(4x4,5x5), fused with pooling"},
        {"threads", std::to_string(threads())},
#if defined(__clang__)
        {"compiler", "clang " __clang_version__},
#else
        {"compiler", "gcc " __VERSION__},
#endif
    };
  }
};

}  // namespace
}  // namespace lenet

namespace pybind11::detail {
template <>
struct type_caster<lenet::Fused::Variant> : lenet::bindings::VariantCaster<lenet::Fused::Variant> {
};
}  // namespace pybind11::detail

PYBIND11_MODULE(_fused, module, pybind11::mod_gil_not_used()) {
  const auto variant = pybind11::arg("variant") = "";
  lenet::bindings::bind<lenet::FusedBackend, lenet::Fused::Variant>(module, "Fused", variant);
}
