// LeNet in OpenVINO's C++ API: the same model file, compiled for one image.
#include <algorithm>
#include <openvino/openvino.hpp>

#include "api/answer.hpp"

namespace lenet {

Answer build(const Weights&, const std::string& onnx_model, int threads) {
  ov::Core core;
  auto model = core.read_model(onnx_model, ov::Tensor());  // load
  model->reshape({1, 1, 28, 28});
  auto compiled = core.compile_model(model, "CPU", ov::hint::inference_precision(ov::element::f32),
                                     ov::hint::performance_mode(ov::hint::PerformanceMode::LATENCY),
                                     ov::inference_num_threads(threads), ov::num_streams(1));
  auto request = compiled.create_infer_request();
  return [core, request](const float* images, std::int64_t, float* probabilities) mutable {
    request.set_input_tensor(
        ov::Tensor(ov::element::f32, {1, 1, 28, 28}, const_cast<float*>(images)));
    request.infer();
    const auto output = request.get_output_tensor();
    std::copy_n(output.data<const float>(), output.get_size(), probabilities);
  };
}

}  // namespace lenet
