// lenet_bench._cuda13 or ._cuda12: the rungs on an NVIDIA GPU, for that major of CUDA.
#include <pybind11/pybind11.h>

#include <exception>

#include "bindings/rung.hpp"
#include "cuda/cudnn.hpp"
#include "cuda/cudnn_frontend.hpp"
#include "cuda/errors.hpp"
#include "cuda/fused.hpp"
#include "cuda/launch_floor.hpp"
#include "cuda/nvrtc.hpp"
#include "cuda/persistent.hpp"

namespace lenet::bindings {
namespace {

/// Unavailable is the user's to mend, so it is Python's class of that name.
void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const cuda::Unavailable& error) {
    const py::object cls = py::module_::import("lenet_bench.errors").attr("Unavailable");
    py::set_error(cls, error.what());
  }
}

/// Where the time of one image goes, in microseconds, as medians of many calls.
template <class Rung>
std::map<std::string, double> profile(const Rung& rung, const py::object& image, int calls) {
  const py::array input = checked("check_image", image);
  const ReleasedGil released;
  return rung.profile(static_cast<const float*>(input.data()), calls);
}

template <class Rung, class... Options, class... Arguments>
void bind_gpu_rung(py::module_& module, const char* name, const Arguments&... arguments) {
  bind<Rung, Options...>(module, name, arguments...)
      .def("profile", &profile<Rung>, py::arg("image"), py::arg("calls") = 200);
}

}  // namespace
}  // namespace lenet::bindings

PYBIND11_MODULE(LENET_MODULE, module, pybind11::mod_gil_not_used()) {
  using namespace lenet::bindings;
  pybind11::register_local_exception_translator(&translate);
  const auto variant = pybind11::arg("variant") = "";
  bind_gpu_rung<lenet::Cudnn, std::string>(module, "Cudnn", variant);
  bind_gpu_rung<lenet::CudnnFrontend>(module, "CudnnFrontend");
  bind_gpu_rung<lenet::FusedOnGpu, std::string>(module, "FusedOnGpu", variant);
  bind_gpu_rung<lenet::PersistentOnGpu>(module, "PersistentOnGpu");
  bind<lenet::LaunchFloor>(module, "LaunchFloor");
  module.def("known_capabilities", &lenet::cuda::known_capabilities);
  const auto compile = [](const lenet::cuda::KernelSource& source, int capability) {
    const std::vector<char> code = lenet::cuda::compile_kernels(source, capability);
    return pybind11::bytes(code.data(), code.size());
  };
  using lenet::cuda::kFusedKernels, lenet::cuda::kPersistentKernel;
  module.def("compile_kernels", [=](int capability) { return compile(kFusedKernels, capability); });
  module.def("compile_persistent_kernel",
             [=](int capability) { return compile(kPersistentKernel, capability); });
}
