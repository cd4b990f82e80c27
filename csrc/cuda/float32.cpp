#include "cuda/float32.hpp"

#include <cstdlib>
#include <string>

#include "cuda/errors.hpp"

namespace lenet::cuda {
namespace {

constexpr const char* kVariable = "NVIDIA_TF32_OVERRIDE";

/// Of the environment of now: who has changed it since the libraries started is not known.
std::string override() {
  const char* value = std::getenv(kVariable);
  return value != nullptr ? value : "";
}

}  // namespace

void require_float32() {
  const std::string value = override();
  if (value.empty() || value == "0") return;
  throw Unavailable(std::string(kVariable) + "=" + value +
                    " lets NVIDIA's libraries round floats to TF32, and this variant promises "
                    "float32; fix it with: unset " +
                    kVariable);
}

void require_tf32() {
  if (override() != "0") return;
  throw Unavailable(std::string(kVariable) +
                    "=0 forbids TF32 in this process; the GPU variants of the frameworks set it, "
                    "so use cudnn:tf32 in a process without them, and fix it with: unset " +
                    kVariable);
}

}  // namespace lenet::cuda
