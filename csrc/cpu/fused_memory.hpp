// Memory that one core reads again and again, in pages that its second-level cache holds all at
// once.
#pragma once

#include <cstddef>
#include <memory>

namespace lenet {

/// Zeroed and aligned to a page; owned by one.
class FusedMemory {
 public:
  explicit FusedMemory(std::size_t bytes);
  void* get() const { return memory_.get(); }

 private:
  struct Free {
    std::size_t bytes;
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, Free> memory_;
};

}  // namespace lenet
