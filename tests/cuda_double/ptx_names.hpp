// The names that a kernel's PTX declares: registers, shared variables, parameters.
#pragma once

#include "ptx.hpp"
#include "ptx_text.hpp"

namespace cuda_double {

/// Where an operand lies in the register file, and the bytes that a lane has of it.
struct Register {
  std::uint32_t at = 0;
  std::uint8_t width = 0;
};

[[noreturn]] void refuse(const std::string& what);

/// A number as PTX writes it: 12, 0x0c, -12, or a float's bits, 0f41400000.
std::uint64_t number(const std::string& text);

class Names {
 public:
  explicit Names(Kernel& kernel) : kernel_(kernel) {}

  /// .reg, .shared and what may be passed over.
  void declare(const std::string& statement);
  void declare_parameter(const std::string& text);

  /// A register, or a constant of this width.
  Register operand(const std::string& text, std::size_t width);
  std::size_t parameter(const std::string& name) const { return parameters_.at(name); }

 private:
  void declare_shared(const std::string& statement);
  Register new_register(std::size_t width);
  Register constant(std::uint64_t value, std::size_t width);

  Kernel& kernel_;
  std::map<std::string, Register> registers_;
  std::map<std::pair<std::uint64_t, std::size_t>, Register> constants_;
  std::map<std::string, std::size_t> shared_, parameters_;
};

}  // namespace cuda_double
