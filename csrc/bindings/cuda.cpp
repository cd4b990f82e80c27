// lenet_bench._cuda13 or ._cuda12: the backends on an NVIDIA GPU, for that major of CUDA.
#include <pybind11/pybind11.h>

#include <exception>

#include "bindings/backend.hpp"
#include "bindings/gpu_backends.hpp"
#include "bindings/gpu_floors.hpp"
#include "bindings/gpu_probe.hpp"
#include "bindings/network.hpp"
#include "cuda/errors.hpp"
#include "cuda/nvrtc.hpp"
#include "networks/cudnn.hpp"

namespace lenet {

template <>
struct VariantNames<networks::AnyOnCudnn::Variant> {
  using Variant = networks::AnyOnCudnn::Variant;
  static constexpr NamedVariant<Variant> kAll[] = {
      {"", Variant::kNamed}, {"find", Variant::kFind}, {"cudagraph", Variant::kCudaGraph}};
};

}  // namespace lenet

namespace lenet::bindings {
namespace {

/// Unavailable can be fixed by the user, so it is Python's class of that name.
void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const cuda::Unavailable& error) {
    const py::object cls = py::module_::import("lenet_bench.errors").attr("Unavailable");
    py::set_error(cls, error.what());
  }
}

/// Where the time of one image goes, in microseconds, as medians of many calls.
template <class Backend>
std::map<std::string, double> profile(const Backend& backend, const py::object& image, int calls) {
  const py::array input = checked("check_image", image);
  const ReleasedGil released;
  return backend.profile(static_cast<const float*>(input.data()), calls);
}

template <class Backend, class... Options, class... Arguments>
void bind_on_gpu(py::module_& module, const char* name, const Arguments&... arguments) {
  bind<Backend, Options...>(module, name, arguments...)
      .def("profile", &profile<Backend>, py::arg("image"), py::arg("calls") = 200);
}

/// Any network, on a session of its own. `threads` means nothing to a GPU.
class BuiltCudnn {
 public:
  BuiltCudnn(const networks::Graph& graph, int /*threads*/, networks::AnyOnCudnn::Variant variant) {
    opened_->session.run([&] {
      opened_->network = std::make_unique<networks::AnyOnCudnn>(opened_->session, graph, variant);
    });
  }

  std::int64_t inputs() const { return opened_->network->inputs(); }
  std::int64_t answers() const { return opened_->network->answers(); }

  void infer(const float* input, float* answer) const {
    opened_->session.run([&] { opened_->network->infer(input, answer); });
  }

  std::map<std::string, std::string> describe() const {
    std::map<std::string, std::string> facts;
    opened_->session.run([&] { facts = opened_->network->facts(); });
    return facts;
  }

 private:
  struct Opened {
    cuda::Session session;
    std::unique_ptr<networks::AnyOnCudnn> network;
  };
  std::shared_ptr<Opened> opened_{new Opened, cuda::close<Opened>};
};

}  // namespace
}  // namespace lenet::bindings

namespace pybind11::detail {
using lenet::bindings::VariantCaster;
template <>
struct type_caster<lenet::CudnnNetwork::Variant> : VariantCaster<lenet::CudnnNetwork::Variant> {};
template <>
struct type_caster<lenet::CudnnGraphApiNetwork::Variant>
    : VariantCaster<lenet::CudnnGraphApiNetwork::Variant> {};
template <>
struct type_caster<lenet::FusedNetwork::Variant> : VariantCaster<lenet::FusedNetwork::Variant> {};
template <>
struct type_caster<lenet::networks::AnyOnCudnn::Variant>
    : VariantCaster<lenet::networks::AnyOnCudnn::Variant> {};
}  // namespace pybind11::detail

PYBIND11_MODULE(LENET_MODULE, module, pybind11::mod_gil_not_used()) {
  using namespace lenet::bindings;
  pybind11::register_local_exception_translator(&translate);
  const auto variant = pybind11::arg("variant") = "";
  bind_on_gpu<lenet::Cudnn, lenet::CudnnNetwork::Variant>(module, "Cudnn", variant);
  bind_built<BuiltCudnn, lenet::networks::AnyOnCudnn::Variant>(module, "BuiltCudnn", variant);
  bind_on_gpu<lenet::CudnnGraphApi, lenet::CudnnGraphApiNetwork::Variant>(module, "CudnnGraphApi",
                                                                          variant);
  bind_on_gpu<lenet::FusedOnGpu, lenet::FusedNetwork::Variant>(module, "FusedOnGpu", variant);
  bind_on_gpu<lenet::PersistentOnGpu>(module, "PersistentOnGpu");
  const auto first = pybind11::arg("first"), last = pybind11::arg("last");
  const auto trivial = pybind11::arg("trivial");
  bind<lenet::CudnnProbe, int, int, int, lenet::CudnnNetwork::Variant>(module, "CudnnProbe", first,
                                                                       last, trivial, variant);
  bind<lenet::CudnnGraphApiProbe, int, int, int, lenet::CudnnGraphApiNetwork::Variant>(
      module, "CudnnGraphApiProbe", first, last, trivial, variant);
  bind<lenet::FusedProbe, int, int, int, lenet::FusedNetwork::Variant>(module, "FusedProbe", first,
                                                                       last, trivial, variant);
  bind_on_gpu<lenet::LaunchAndCopies>(module, "LaunchAndCopies");
  bind_on_gpu<lenet::LaunchAndFlag>(module, "LaunchAndFlag");
  bind_on_gpu<lenet::ResidentEcho>(module, "ResidentEcho");
  pybind11::module_::import("atexit").attr("register")(
      pybind11::cpp_function(&lenet::cuda::close_sessions));
  module.def("keep_kernels_in", &lenet::cuda::keep_kernels_in, pybind11::arg("folder"));
  module.def("known_capabilities", &lenet::cuda::known_capabilities);
  const auto compile = [](const lenet::cuda::KernelSource& source, int capability) {
    const std::vector<char> code = lenet::cuda::compile_kernels(source, capability);
    return pybind11::bytes(code.data(), code.size());
  };
  using lenet::cuda::kClusterKernels, lenet::cuda::kFusedKernels;
  module.def("compile_kernels", [=](int capability) { return compile(kFusedKernels, capability); });
  module.def("compile_cluster_kernels",
             [=](int capability) { return compile(kClusterKernels, capability); });
}
