// The C face of an Answer (api/answer.hpp), compiled with it on the user's machine: any language's
// foreign calls reach it, so that neither pybind11 nor Python's headers are needed there.
#include "api/answer.hpp"

#include <cstdio>
#include <exception>

namespace {

constexpr std::size_t kRoom = 1000;

/// False, and why, where it throws: no exception may cross into C.
template <class Work>
bool succeeds(char (*why)[kRoom], Work work) {
  try {
    work();
    return true;
  } catch (const std::exception& error) {
    std::snprintf(*why, kRoom, "%s", error.what());
  } catch (...) {
    std::snprintf(*why, kRoom, "an exception that says nothing");
  }
  return false;
}

}  // namespace

extern "C" {

/// Null, and why, where it cannot be built. The parameters are in the order of `Weights`.
lenet::Answer* lenet_build(const lenet::Weights* weights, const char* onnx_model, std::size_t bytes,
                           int threads, char (*why)[kRoom]) {
  lenet::Answer* answer = nullptr;
  succeeds(why, [&] {
    answer = new lenet::Answer(lenet::build(*weights, std::string(onnx_model, bytes), threads));
  });
  return answer;
}

bool lenet_answer(const lenet::Answer* answer, const float* images, std::int64_t count,
                  float* probabilities, char (*why)[kRoom]) {
  return succeeds(why, [&] { (*answer)(images, count, probabilities); });
}

void lenet_end(lenet::Answer* answer) { delete answer; }
}
