// LeNet in ONNX Runtime's C API: the same model file, in a session for one image.
#include <memory>
#include <stdexcept>

#include "api/answer.hpp"
#include "api/onnxruntime_c_api.hpp"

namespace lenet {
namespace {

const OrtApi* const ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);

void check(OrtStatus* status) {
  if (status == nullptr) return;
  const std::string why = ort->GetErrorMessage(status);
  ort->ReleaseStatus(status);
  throw std::runtime_error(why);
}

/// A tensor in memory of the caller's.
template <std::size_t dimensions>
std::shared_ptr<OrtValue> tensor(const OrtMemoryInfo* memory, const float* values,
                                 const std::int64_t (&shape)[dimensions]) {
  std::size_t bytes = sizeof(float);
  for (const auto size : shape) bytes *= size;
  OrtValue* value = nullptr;
  check(ort->CreateTensorWithDataAsOrtValue(memory, const_cast<float*>(values), bytes, shape,
                                            dimensions, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                            &value));
  return {value, ort->ReleaseValue};
}

}  // namespace

Answer build(const Weights&, const std::string& onnx_model, int threads) {
  if (ort == nullptr) throw std::runtime_error("this ONNX Runtime has no version 3 of its API");
  OrtEnv* env = nullptr;
  check(ort->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "lenet", &env));
  const std::shared_ptr<OrtEnv> environment(env, ort->ReleaseEnv);
  OrtSessionOptions* options = nullptr;
  check(ort->CreateSessionOptions(&options));
  const std::shared_ptr<OrtSessionOptions> released(options, ort->ReleaseSessionOptions);
  check(ort->SetIntraOpNumThreads(options, threads));
  check(ort->SetInterOpNumThreads(options, 1));
  check(ort->AddFreeDimensionOverrideByName(options, "n", 1));
  OrtSession* opened = nullptr;
  // load
  check(ort->CreateSessionFromArray(env, onnx_model.data(), onnx_model.size(), options, &opened));
  const auto release = [environment](OrtSession* session) { ort->ReleaseSession(session); };
  const std::shared_ptr<OrtSession> session(opened, release);
  OrtMemoryInfo* cpu = nullptr;
  check(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &cpu));
  const std::shared_ptr<OrtMemoryInfo> memory(cpu, ort->ReleaseMemoryInfo);
  return [=](const float* images, std::int64_t, float* probabilities) {
    const auto image = tensor(memory.get(), images, {1, 1, 28, 28});
    const auto answer = tensor(memory.get(), probabilities, {1, 10});
    const char *from = "image", *to = "probabilities";
    OrtValue *input = image.get(), *output = answer.get();
    check(ort->Run(session.get(), nullptr, &from, &input, 1, &to, 1, &output));
  };
}

}  // namespace lenet
