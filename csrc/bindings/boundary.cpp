// lenet_bench._boundary: what Python backends and the measuring of them need in C++.
#include <chrono>
#include <cstdint>

#include "bindings/input.hpp"
#include "bindings/released_gil.hpp"

namespace {

/// Let the GIL go for so long, without a pause of the thread; then ask for it, and return how long
/// that took.
std::int64_t wait_for_gil_ns(std::int64_t away_ns) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point asked;
  {
    const lenet::bindings::ReleasedGil released;
    const auto end = Clock::now() + std::chrono::nanoseconds(away_ns);
    do asked = Clock::now();
    while (asked < end);
  }
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - asked).count();
}

}  // namespace

PYBIND11_MODULE(_boundary, module, pybind11::mod_gil_not_used()) {
  // The check of the native backends for those in Python, so that none of them pays more for it.
  module.def("is_ready", &lenet::bindings::is_ready, pybind11::arg("images"));
  module.def("wait_for_gil_ns", &wait_for_gil_ns, pybind11::arg("away_ns"));
}
