// lenet_bench._openblas
#include "cpu/openblas.hpp"

#include <cblas.h>

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

}  // namespace lenet

PYBIND11_MODULE(_openblas, module, pybind11::mod_gil_not_used()) {
  lenet::bindings::bind<lenet::bindings::OneAtATime<lenet::OpenBlas>>(module, "OpenBlas");
}
