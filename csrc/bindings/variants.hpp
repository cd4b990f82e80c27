// Variants by their names: what follows the colon in a row's name, and "" for none.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace lenet {

template <class Variant>
using NamedVariant = std::pair<const char*, Variant>;

/// Beside a module's backends: `kAll`, each variant of an enum with its name.
template <class Variant>
struct VariantNames;

template <class Variant>
Variant variant_of(const std::string& name) {
  std::string expected;
  for (const auto& [known, variant] : VariantNames<Variant>::kAll) {
    if (name == known) return variant;
    expected += (expected.empty() ? "'" : ", '") + std::string(known) + "'";
  }
  throw std::invalid_argument("there is no variant '" + name + "'; expected one of " + expected);
}

}  // namespace lenet
