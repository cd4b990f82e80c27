// What NVIDIA_TF32_OVERRIDE makes of a promise: cuDNN and cuBLAS read it, and it goes before
// whatever a program asks of them.
#pragma once

namespace lenet::cuda {

/// Raises Unavailable where the variable lets NVIDIA's libraries round floats to TF32 unasked.
void require_float32();
/// Raises Unavailable where it, or a framework that has set it in this process, forbids TF32.
void require_tf32();

}  // namespace lenet::cuda
