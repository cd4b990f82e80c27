// lenet_bench._boundary: what Python backends and the measuring of them need in C++.
#include <sys/resource.h>

#include <chrono>
#include <cstdint>

#include "bindings/input.hpp"
#include "bindings/released_gil.hpp"

namespace {

/// How often this thread went to sleep; of the whole process where the system does not say.
long slept() {
  rusage used{};
#ifdef RUSAGE_THREAD
  getrusage(RUSAGE_THREAD, &used);
#else
  getrusage(RUSAGE_SELF, &used);
#endif
  return used.ru_nvcsw;
}

/// Let the GIL go for so long, without a pause of the thread; then ask for it, and return whether
/// the thread had to sleep for it. How long that took says less: beside other programs a free one
/// is not had at once either.
bool wait_for_gil(std::int64_t away_ns) {
  using Clock = std::chrono::steady_clock;
  long before = 0;
  {
    const lenet::bindings::ReleasedGil released;
    const auto end = Clock::now() + std::chrono::nanoseconds(away_ns);
    while (Clock::now() < end) {
    }
    before = slept();
  }
  return slept() != before;
}

}  // namespace

PYBIND11_MODULE(_boundary, module, pybind11::mod_gil_not_used()) {
  // The check of the native backends for those in Python, so that none of them pays more for it.
  module.def("is_ready", &lenet::bindings::is_ready, pybind11::arg("images"));
  module.def("wait_for_gil", &wait_for_gil, pybind11::arg("away_ns"));
}
