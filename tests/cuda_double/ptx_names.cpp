#include "ptx_names.hpp"

#include <cctype>
#include <cstring>
#include <stdexcept>

namespace cuda_double {
namespace {

const std::map<std::string, SpecialKind> kSpecials = {{"%tid.x", SpecialKind::thread},
                                                      {"%laneid", SpecialKind::lane},
                                                      {"%warpid", SpecialKind::warp},
                                                      {"%ctaid.x", SpecialKind::block},
                                                      {"%ntid.x", SpecialKind::threads},
                                                      {"%nctaid.x", SpecialKind::blocks},
                                                      {"%clusterid.x", SpecialKind::cluster},
                                                      {"%cluster_ctarank", SpecialKind::rank},
                                                      {"%cluster_ctaid.x", SpecialKind::rank},
                                                      {"%cluster_nctarank", SpecialKind::ranks},
                                                      {"%cluster_nctaid.x", SpecialKind::ranks},
                                                      {"%tid.y", SpecialKind::none},
                                                      {"%tid.z", SpecialKind::none},
                                                      {"%ctaid.y", SpecialKind::none},
                                                      {"%ctaid.z", SpecialKind::none},
                                                      {"%ntid.y", SpecialKind::one},
                                                      {"%ntid.z", SpecialKind::one}};

}  // namespace

void refuse(const std::string& what) {
  throw std::runtime_error("the interpreter does not know " + what);
}

void Names::declare(const std::string& statement) {
  if (statement.rfind(".shared", 0) == 0) return declare_shared(statement);
  if (statement.rfind(".reg", 0) != 0) {
    if (statement.rfind(".pragma", 0) == 0) return;
    refuse(statement);
  }
  const std::size_t type = statement.find('.', 4), names = statement.find_first_of(" \t", type);
  const std::size_t width = width_of(statement.substr(type, names - type));
  for (const std::string& name : operands_of(statement.substr(names))) {
    const std::size_t count = name.find('<');
    if (count == std::string::npos) {
      registers_[name] = new_register(width);
    } else {
      for (int i = 0; i < std::stoi(name.substr(count + 1)); ++i) {
        registers_[name.substr(0, count) + std::to_string(i)] = new_register(width);
      }
    }
  }
}

void Names::declare_shared(const std::string& statement) {
  std::size_t align = 1, bytes = 1;
  const std::size_t open = std::min(statement.find('['), statement.size());
  const Words words = split(statement.substr(0, open), " \t\n");
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == ".align") align = std::stoul(words[i + 1]);
  }
  bytes = width_of(words.at(words.size() - 2));
  for (const std::string& size : split(statement.substr(open), "[] ")) bytes *= std::stoul(size);
  if (statement.find("[]") != std::string::npos) bytes = 0;  // what the launch adds
  const std::size_t start = (kernel_.shared_bytes + align - 1) / align * align;
  shared_[words.back()] = start;
  kernel_.shared_bytes = start + bytes;
}

Register Names::new_register(std::size_t width) {
  const auto at = std::uint32_t(kernel_.registers.size());
  kernel_.registers.resize(at + 32 * width, '\xff');
  return {at, std::uint8_t(width)};
}

Register Names::constant(std::uint64_t value, std::size_t width) {
  const auto [found, fresh] = constants_.insert({{value, width}, {}});
  if (fresh) {
    found->second = new_register(width);
    for (int lane = 0; lane < 32; ++lane) {
      std::memcpy(&kernel_.registers[found->second.at + lane * width], &value, width);
    }
  }
  return found->second;
}

std::uint64_t number(const std::string& text) {
  if (text[0] == '0' && (text[1] == 'f' || text[1] == 'F' || text[1] == 'd' || text[1] == 'D')) {
    return std::stoull(text.substr(2), nullptr, 16);
  }
  if (text[0] == '-') return -std::stoull(text.substr(1), nullptr, 0);
  return std::stoull(text, nullptr, 0);
}

Register Names::operand(const std::string& text, std::size_t width) {
  const auto known = registers_.find(text);
  if (known != registers_.end()) return known->second;
  if (text == "_") return new_register(width);
  if (text[0] == '%') {
    if (!kSpecials.count(text) || width != 4) refuse(text);
    registers_[text] = new_register(4);
    kernel_.specials.push_back({kSpecials.at(text), registers_[text].at});
    return registers_[text];
  }
  const auto symbol = shared_.find(text);
  if (symbol != shared_.end()) return constant(symbol->second, width);
  if (!std::isdigit(text[0]) && text[0] != '-') refuse(text);
  return constant(number(text), width);
}

void Names::declare_parameter(const std::string& text) {
  const Words words = split(text, " \t\n[]");
  const bool array = text.back() == ']';
  const std::size_t width = width_of(words.at(words.at(1) == ".align" ? 3 : 1));
  parameters_[words.at(words.size() - (array ? 2 : 1))] = kernel_.parameters.size();
  kernel_.parameters.push_back(width * (array ? std::stoul(words.back()) : 1));
}

}  // namespace cuda_double
