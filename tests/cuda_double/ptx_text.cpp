#include "ptx_text.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace cuda_double {
namespace {

bool is_word(char c) { return std::isalnum(c) || c == '_' || c == '$' || c == '%' || c == '.'; }

}  // namespace

std::string without_comments(std::string text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != '/' || (text[i + 1] != '/' && text[i + 1] != '*')) continue;
    const bool line = text[i + 1] == '/';
    const std::size_t end = std::min(text.find(line ? "\n" : "*/", i), text.size());
    for (; i < end; ++i) text[i] = text[i] == '\n' ? '\n' : ' ';
    if (!line) text.replace(end, 2, "  ");
  }
  return text;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\n\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n\r") - first + 1);
}

Words operands_of(const std::string& text) {
  Words parts;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    if (std::strchr("[{(", c)) ++depth;
    if (std::strchr("]})", c)) --depth;
    if (c == ',' && depth == 0) {
      parts.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trimmed(part).empty()) parts.push_back(trimmed(part));
  return parts;
}

Words split(const std::string& text, const char* separators) {
  Words words;
  for (std::size_t at = 0; (at = text.find_first_not_of(separators, at)) != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::size_t width_of(const std::string& type) {
  const std::string bits = type.substr(type.find_first_of("0123456789pq"));
  if (bits[0] == 'p') return 4;
  return std::stoul(bits) / 8;
}

std::vector<Statement> statements_of(const std::string& text, std::size_t at, std::size_t end) {
  std::vector<Statement> statements;
  std::vector<int> scopes = {0};
  int last_scope = 0;
  int line = 1 + int(std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n'));
  for (; at < end; ++at) {
    const char c = text[at];
    line += c == '\n';
    if (std::isspace(c) || c == ';') continue;
    if (c == '{') {
      scopes.push_back(++last_scope);
    } else if (c == '}') {
      scopes.pop_back();
    } else {
      std::size_t stop = at;
      while (is_word(text[stop])) ++stop;
      const bool label = text[stop] == ':' && text[stop + 1] != ':';
      if (!label) stop = text.find(';', at);
      const std::string statement = text.substr(at, stop - at);
      statements.push_back({trimmed(statement), line, scopes, label});
      line += int(std::count(statement.begin(), statement.end(), '\n'));
      at = stop;
    }
  }
  return statements;
}

}  // namespace cuda_double
