// A network's variants by name: what follows the colon in a row's name, and "" for none.
#pragma once

#include <stdexcept>
#include <string>

namespace lenet {

/// The variant of `Network`, which has the names of its own in kVariants.
template <class Network>
typename Network::Variant variant_of(const std::string& name) {
  std::string expected;
  for (const auto& [known, variant] : Network::kVariants) {
    if (name == known) return variant;
    expected += (expected.empty() ? "'" : ", '") + std::string(known) + "'";
  }
  throw std::invalid_argument("there is no variant '" + name + "'; expected one of " + expected);
}

}  // namespace lenet
