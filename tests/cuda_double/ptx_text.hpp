// PTX as text: its words and its statements.
#pragma once

#include <string>
#include <vector>

namespace cuda_double {

using Words = std::vector<std::string>;

/// Without comments; the lines stay where they are.
std::string without_comments(std::string text);

std::string trimmed(const std::string& text);
Words split(const std::string& text, const char* separators);

/// At the commas that stand in no bracket.
Words operands_of(const std::string& text);

/// The bytes of a type: 4 of .f32, and of a predicate.
std::size_t width_of(const std::string& type);

/// An instruction, a declaration or a label, and the braces around it from outside in.
struct Statement {
  std::string text;
  int line;
  std::vector<int> scopes;
  bool label;
};

/// Those between two places, a function's braces.
std::vector<Statement> statements_of(const std::string& text, std::size_t at, std::size_t end);

}  // namespace cuda_double
