// Memory of the host as a kernel on the GPU sees it, which is late and in no order of its own.
//
// A weak load finds the memory as it was when its warp last acquired something from the host. A
// strong one may find each 64-bit word as it is, or once more as it was. A weak store goes out when
// somebody who knows of it releases, a strong one some time later; single 64-bit words go whole.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "knowledge.hpp"
#include "machine.hpp"

namespace cuda_double {

class HostMemory {
 public:
  explicit HostMemory(unsigned seed) : dice_(seed) {}

  /// Which copy is the newest.
  std::uint32_t newest() const { return newest_; }
  /// Takes a copy of all of it, as it is now.
  void copy();

  /// As it was in this copy.
  void read(std::uint64_t address, unsigned bytes, char* to, std::uint32_t as_of);
  /// As it is, or still as it was; true where something of it is news.
  bool poll(std::uint64_t address, unsigned bytes, char* to);

  void write(std::uint64_t address, unsigned bytes, const char* from, Epoch by);
  void write_strong(std::uint64_t address, unsigned bytes, const char* from, Epoch by,
                    std::shared_ptr<const Knowledge> writer);
  /// What this knows of goes out.
  void release(const Knowledge& known);
  /// One strong store goes out; false where there is none.
  bool send_one();
  void send_all();

  /// What had happened when the host got the words that it has now.
  Clock heard;

 private:
  struct Mapped {
    Piece piece;
    std::vector<std::vector<char>> copies;
    std::vector<char> seen;  // by strong loads
  };
  struct Store {
    std::uint64_t address;
    char bytes[8];
    unsigned count;
    Epoch by;
    std::shared_ptr<const Knowledge> writer;
  };

  Mapped& mapped(std::uint64_t address);
  void send(const Store& store);

  std::vector<Mapped> pieces_;
  std::vector<Store> stores_;
  std::uint32_t newest_ = 0;
  std::mt19937 dice_;
};

}  // namespace cuda_double
