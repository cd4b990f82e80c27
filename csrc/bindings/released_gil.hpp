// The GIL, let go while what runs needs nothing of Python.
#pragma once

#include <pybind11/pybind11.h>

#ifdef __GLIBCXX__
#include <cxxabi.h>
#include <unistd.h>
#endif

namespace lenet::bindings {

/// Lets Python's other threads run while it lives. Before Python 3.14, a thread that returns after
/// the interpreter's end is unwound through our frames into std::terminate: it is parked here, as
/// 3.14 does. Only GCC's library has a name to catch the unwinding by.
class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;
  ~ReleasedGil() {
#ifdef __GLIBCXX__
    try {
      PyEval_RestoreThread(state_);
    } catch (abi::__forced_unwind&) {
      for (;;) pause();
    }
#else
    PyEval_RestoreThread(state_);
#endif
  }

 private:
  PyThreadState* state_;
};

}  // namespace lenet::bindings
