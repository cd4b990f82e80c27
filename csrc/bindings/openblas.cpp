// lenet_bench._openblas
#include "cpu/openblas.hpp"

#include <cblas.h>

#include <algorithm>

#include "bindings/backend.hpp"
#include "bindings/one_at_a_time.hpp"

namespace lenet {

std::vector<Layer> layers_of(OpenBlas& network, const float* image) {
  float probabilities[kClasses];
  network.infer(image, probabilities);
  const OpenBlas::Activations& a = network.activations();
  const auto values = [](const auto& of) { return std::vector(std::begin(of), std::end(of)); };
  return {
      {"conv1", values(a.conv1)},
      {"pool1", values(a.pool1)},
      {"conv2", values(a.conv2)},
      {"pool2", values(a.pool2)},
      {"fc1", values(a.fc1)},
      {"fc2", values(a.fc2)},
      {"probabilities", values(probabilities)},
  };
}

std::map<std::string, std::string> facts_of(const OpenBlas& network) {
  return {
      {"library", scipy_openblas_get_config()},
      {"kernels", scipy_openblas_get_corename()},
      {"convolution", "im2col + sgemm"},
      {"fully connected", "sgemv"},
      {"threads", std::to_string(network.threads())},
  };
}

/// LeNet cut after so many of its stages, or trivial operations on ten floats (calls of BLAS): what
/// `why` takes OpenBLAS apart by.
class OpenBlasProbe {
 public:
  OpenBlasProbe(const Weights& weights, int threads, int stages, int trivial)
      : network_(weights, threads), stages_(stages), trivial_(trivial) {}

  void infer(const float* image, std::size_t /*count*/, float* probabilities) const {
    const int threads = network_.threads();
    if (scipy_openblas_get_num_threads() != threads) scipy_openblas_set_num_threads(threads);
    if (stages_ > 0) network_.conv1(image);
    if (stages_ > 1) network_.pool1();
    if (stages_ > 2) network_.conv2();
    if (stages_ > 3) network_.pool2();
    if (stages_ > 4) network_.fc1();
    if (stages_ > 5) network_.fc2();
    std::copy_n(image, kClasses, probabilities);
    for (int i = 0; i < trivial_; ++i) {
      scipy_cblas_saxpy(kClasses, 1.0f, image, 1, probabilities, 1);
    }
  }

 private:
  mutable OpenBlas network_;
  int stages_, trivial_;
};

}  // namespace lenet

PYBIND11_MODULE(_openblas, module, pybind11::mod_gil_not_used()) {
  using OpenBlas = lenet::bindings::OneAtATime<lenet::OpenBlas>;
  lenet::bindings::bind<OpenBlas>(module, "OpenBlas").def("let_all_in", &OpenBlas::let_all_in);

  namespace py = pybind11;
  using Probe = lenet::OpenBlasProbe;
  py::class_<Probe>(module, "OpenBlasProbe")
      .def(py::init([](const py::object& weights, int threads, int stages, int trivial) {
             return std::make_unique<Probe>(lenet::bindings::weights_from(weights), threads, stages,
                                            trivial);
           }),
           py::arg("weights"), py::arg("threads"), py::arg("stages"), py::arg("trivial"))
      .def("infer", &lenet::bindings::infer<Probe>, py::arg("images"));
}
