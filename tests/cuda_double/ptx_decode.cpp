// The text of a kernel, PTX, into instructions (ptx.hpp).
#include <algorithm>
#include <cctype>
#include <cstring>
#include <stdexcept>

#include "ptx_names.hpp"

namespace cuda_double {
namespace {

class Decoder {
 public:
  Decoder(const std::string& text, const std::string& name) : text_(without_comments(text)) {
    kernel_.name = name;
    const std::size_t entry = find_entry(name), open = text_.find('{', entry);
    std::size_t close = open;
    for (int depth = 0; close < text_.size(); ++close) {
      depth += text_[close] == '{' ? 1 : text_[close] == '}' ? -1 : 0;
      if (depth == 0) break;
    }
    for (std::size_t at = 0; (at = text_.find("\n.", at)) != std::string::npos; ++at) {
      const std::string statement = text_.substr(at + 1, text_.find(';', at) - at - 1);
      if (statement.rfind(".shared", 0) == 0) names_.declare(statement);
    }
    read_head(text_.substr(entry, open - entry));
    read_body(open + 1, close);
  }

  Kernel take() {
    for (const Jump& jump : flow_.jumps) kernel_.code[jump.from].target = find_label(jump);
    return std::move(kernel_);
  }

 private:
  struct Jump {
    std::size_t from;
    std::string label;
    std::vector<int> scopes;
  };

  std::size_t find_entry(const std::string& name) const {
    for (std::size_t at = 0; (at = text_.find(".entry", at)) != std::string::npos;) {
      at = text_.find_first_not_of(" \t\n", at + 6);
      const std::size_t end = text_.find_first_of(" \t\n(", at);
      if (text_.substr(at, end - at) == name) return end;
    }
    throw NoSuchKernel();
  }

  void read_head(const std::string& head) {
    const std::size_t open = head.find('('), close = std::min(head.find(')'), head.size());
    if (open < close) {
      for (const std::string& parameter : operands_of(head.substr(open + 1, close - open - 1))) {
        names_.declare_parameter(parameter);
      }
    }
    const Words words = split(head.substr(open < close ? close : 0), " \t\n(),");
    const auto product = [&](std::size_t i) {
      unsigned value = 1;
      for (; i < words.size() && std::isdigit(words[i][0]); ++i)
        value *= unsigned(std::stoul(words[i]));
      return value;
    };
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == ".maxntid" || words[i] == ".reqntid") {
        kernel_.threads = product(i + 1);
      } else if (words[i] == ".reqnctapercluster") {
        kernel_.cluster = product(i + 1);
      }
    }
  }

  void read_body(std::size_t begin, std::size_t end) {
    for (Statement& statement : statements_of(text_, begin, end)) {
      now_ = std::move(statement);
      try {
        if (now_.label) {
          flow_.labels[{now_.text, now_.scopes.back()}] = int(kernel_.code.size());
        } else if (now_.text[0] == '.') {
          names_.declare(now_.text);
        } else {
          decode(now_.text);
        }
      } catch (const std::exception& error) {
        throw std::runtime_error("line " + std::to_string(now_.line) + " of the PTX, " + now_.text +
                                 ": " + error.what());
      }
    }
  }

  void decode(const std::string& statement) {
    Instruction i;
    i.line = now_.line;
    std::string rest = statement;
    if (rest[0] == '@') {
      const std::size_t end = rest.find_first_of(" \t");
      i.inverted = rest[1] == '!';
      i.guard = names_.operand(rest.substr(i.inverted ? 2 : 1, end - (i.inverted ? 2 : 1)), 4).at;
      rest = trimmed(rest.substr(end));
    }
    const std::size_t end = std::min(rest.find_first_of(" \t\n"), rest.size());
    const std::string name = rest.substr(0, end);
    std::string tail = rest.substr(end);
    std::replace(tail.begin(), tail.end(), '|', ',');  // a shuffle's second result
    Words given = operands_of(tail);
    if (!decode_move(i, name, given) && !decode_arithmetic(i, name, given) &&
        !decode_memory(i, name, given) && !decode_other(i, name, given) &&
        !decode_order(i, name, given) && !decode_mbarrier(i, name, given)) {
      refuse(name);
    }
  }

  void add(const Instruction& i) {
    kernel_.code.push_back(i);
    kernel_.text.push_back(now_.text);
  }

  bool decode_move(Instruction i, const std::string& name, Words given) {
    if (name.rfind("mov.", 0) != 0) return false;
    const auto elements = [](const std::string& text) {
      return operands_of(text.substr(1, text.size() - 2));
    };
    if (given[1].rfind("%globaltimer", 0) == 0 || given[1].rfind("%clock", 0) == 0) {
      i.step = &tell_time;
      const Register to = names_.operand(given[0], 8);
      i.at[0] = to.at;
      i.width = to.width;
      add(i);
    } else if (given[1][0] == '{') {
      const Words parts = elements(given[1]);
      return decode_arithmetic(i, "pack" + name.substr(3), {given[0], parts[0], parts[1]});
    } else if (given[0][0] == '{') {
      const Words parts = elements(given[0]);
      return decode_arithmetic(i, "low" + name.substr(3), {parts[0], given[1]}) &&
             decode_arithmetic(i, "high" + name.substr(3), {parts[1], given[1]});
    } else {
      return false;
    }
    return true;
  }

  bool decode_arithmetic(Instruction i, const std::string& name, const Words& given) {
    const Arithmetic* known = find_arithmetic(name);
    if (known == nullptr || known->widths.size() != given.size()) return false;
    i.step = known->step;
    for (std::size_t k = 0; k < given.size(); ++k) {
      const Register place = names_.operand(given[k], known->widths[k]);
      if (place.width != known->widths[k]) return false;
      i.at[k] = place.at;
    }
    add(i);
    return true;
  }

  bool decode_memory(Instruction i, const std::string& name, const Words& given);
  bool decode_other(Instruction i, const std::string& name, Words given);
  bool decode_order(Instruction i, const std::string& name, const Words& given);
  bool decode_mbarrier(Instruction i, const std::string& name, Words given);
  void take_address(const std::string& text, int k, std::int64_t& offset, Instruction& i);
  bool take_modifiers(const Words& words, Instruction& i);
  int find_label(const Jump& jump) const;

  struct Flow {
    std::map<std::pair<std::string, int>, int> labels;
    std::vector<Jump> jumps;
  };

  const std::string text_;
  Statement now_ = {};
  Kernel kernel_;
  Names names_{kernel_};
  Flow flow_;
};

/// What the words between the dots say of an access to memory; false where one is unknown.
bool Decoder::take_modifiers(const Words& words, Instruction& i) {
  static const std::map<std::string, Space> spaces = {{"global", Space::global},
                                                      {"shared", Space::shared},
                                                      {"shared::cta", Space::shared},
                                                      {"shared::cluster", Space::cluster}};
  static const std::map<std::string, Order> orders = {
      {"weak", Order::weak},       {"relaxed", Order::relaxed}, {"acquire", Order::acquire},
      {"release", Order::release}, {"acq_rel", Order::both},    {"sc", Order::both},
      {"volatile", Order::relaxed}};
  static const std::map<std::string, Scope> scopes = {
      {"cta", Scope::block}, {"cluster", Scope::cluster}, {"gpu", Scope::gpu},
      {"gl", Scope::gpu},    {"sys", Scope::system},      {"volatile", Scope::system}};
  static const Words ignored = {"nc",
                                "ca",
                                "cg",
                                "cs",
                                "cv",
                                "lu",
                                "aligned",
                                "parity",
                                "sync",
                                "L1::no_allocate",
                                "L1::evict_first",
                                "L1::evict_last",
                                "L2::64B",
                                "L2::128B",
                                "L2::256B"};
  for (const std::string& word : words) {
    bool known = std::find(ignored.begin(), ignored.end(), word) != ignored.end();
    if (spaces.count(word)) i.space = spaces.at(word), known = true;
    if (orders.count(word)) i.order = orders.at(word), known = true;
    if (scopes.count(word)) i.scope = scopes.at(word), known = true;
    if (word == "v2" || word == "v4") i.count = std::uint8_t(word[1] - '0'), known = true;
    if (std::strchr("bsuf", word[0]) && word.size() > 1 && std::isdigit(word[1])) {
      i.width = std::uint8_t(width_of(word));
      i.sign = word[0] == 's';
      known = true;
    }
    if (!known) return false;
  }
  return true;
}

/// [register + offset] or [variable + offset].
void Decoder::take_address(const std::string& text, int k, std::int64_t& offset, Instruction& i) {
  if (text.front() != '[' || text.back() != ']') refuse(text);
  const std::string inner = text.substr(1, text.size() - 2);
  const std::size_t plus = inner.find('+');
  if (plus != std::string::npos) offset = std::int64_t(number(trimmed(inner.substr(plus + 1))));
  const Register base = names_.operand(trimmed(inner.substr(0, plus)), 8);
  i.at[k] = base.at;
  i.wide_address = base.width == 8;
}

bool Decoder::decode_memory(Instruction i, const std::string& name, const Words& given) {
  Words words = split(name, ".");
  const bool loads = words[0] == "ld", stores = words[0] == "st";
  if (!loads && !stores) return false;
  words.erase(words.begin());
  const bool parameter = words[0] == "param", async = words[0] == "async";
  if (parameter || async) words.erase(words.begin());
  if (async) {
    const auto completes = std::find(words.begin(), words.end(), "mbarrier::complete_tx::bytes");
    if (completes == words.end()) return false;
    words.erase(completes);
  }
  if (!take_modifiers(words, i)) return false;
  const std::string& data = given.at(loads ? 0 : 1);
  const Words elements =
      data[0] == '{' ? operands_of(data.substr(1, data.size() - 2)) : Words{data};
  if (elements.size() != i.count) return false;
  for (int k = 0; k < i.count; ++k) {
    const Register place = names_.operand(elements[k], std::max<std::size_t>(i.width, 2));
    i.at[k] = place.at;
    i.in_register = place.width;
  }
  const std::string& address = given.at(loads ? 1 : 0);
  if (parameter) {
    const std::string inner = address.substr(1, address.size() - 2);
    const std::size_t plus = inner.find('+');
    i.kind = std::uint8_t(names_.parameter(trimmed(inner.substr(0, plus))));
    if (plus != std::string::npos) i.offset = std::int64_t(number(inner.substr(plus + 1)));
  } else {
    take_address(address, i.count, i.offset, i);
  }
  if (async) take_address(given.at(2), i.count + 1, i.second_offset, i);
  i.step = parameter ? &load_parameter : async ? &store_async : loads ? &load : &store;
  kernel_.polls |= loads && i.order != Order::weak && i.scope == Scope::system;
  add(i);
  return true;
}

/// All operands are of 32 bits, or predicates.
bool Decoder::decode_other(Instruction i, const std::string& name, Words given) {
  struct Family {
    const char* start;
    Step step;
    std::uint8_t kind;
  };
  static const Family families[] = {
      {"bra", &branch, 0},
      {"ret", &leave, 0},
      {"exit", &leave, 0},
      {"shfl.sync.up", &shuffle, kUp},
      {"shfl.sync.down", &shuffle, kDown},
      {"shfl.sync.bfly", &shuffle, kButterfly},
      {"shfl.sync.idx", &shuffle, kIndex},
      {"vote.sync.all", &vote, kAll},
      {"vote.sync.any", &vote, kAny},
      {"vote.sync.ballot", &vote, kBallot},
      {"activemask", &vote, kActive},
      {"bar.warp.sync", &meet, 0},
      {"bar.sync", &block_barrier, 0},
      {"barrier.sync", &block_barrier, 0},
      {"barrier.cta.sync", &block_barrier, 0},
      {"mapa.shared::cluster.u32", &map_address, 0},
      {"nanosleep", &sleep_a_while, 0},
  };
  const auto* const end = std::end(families);
  const auto* const family = std::find_if(std::begin(families), end, [&](const Family& each) {
    return name.rfind(each.start, 0) == 0;
  });
  if (family == end) return false;
  i.step = family->step;
  i.kind = family->kind;
  if (i.step == &branch) {
    flow_.jumps.push_back({kernel_.code.size(), given.at(0), now_.scopes});
    given.clear();
  }
  if (i.step == &shuffle && given.size() == 5) given.insert(given.begin() + 1, "_");
  for (std::size_t k = 0; k < given.size(); ++k) i.at[k] = names_.operand(given[k], 4).at;
  i.operands = std::uint8_t(given.size());
  add(i);
  return true;
}

/// What orders memory: its words say how much.
bool Decoder::decode_order(Instruction i, const std::string& name, const Words& given) {
  const auto take = [&](const char* start, Step step, Order order) {
    if (name.rfind(start, 0) != 0) return false;
    i.step = step;
    i.order = order;
    return take_modifiers(split(name.substr(std::strlen(start)), "."), i) && (add(i), true);
  };
  if (name.rfind("cvta.", 0) == 0) {
    const bool shared = name.find("shared") != std::string::npos;
    const std::string window = shared ? std::to_string(kSharedWindow) : "0";
    const std::string way = name.rfind("cvta.to.", 0) == 0 ? "sub.u64" : "add.u64";
    return decode_arithmetic(i, way, {given[0], given[1], window});
  }
  if (name.rfind("fence.proxy", 0) == 0) return true;
  return take("barrier.cluster.arrive", &cluster_arrive, Order::release) ||
         take("barrier.cluster.wait", &cluster_wait, Order::acquire) ||
         take("fence.mbarrier_init", &fence, Order::both) || take("fence", &fence, Order::both) ||
         take("membar", &fence, Order::both);
}

bool Decoder::decode_mbarrier(Instruction i, const std::string& name, Words given) {
  static const std::map<std::string, std::uint8_t> kinds = {
      {"init", kInit},      {"arrive", kArrive}, {"expect_tx", kExpect},
      {"test_wait", kTest}, {"try_wait", kTry},  {"inval", kInvalidate}};
  Words words = split(name, ".");
  if (words[0] != "mbarrier") return false;
  kernel_.mbarriers = true;
  i.step = &mbarrier;
  i.kind = kinds.at(words.at(1));
  const bool waits = i.kind == kTest || i.kind == kTry;
  i.order = i.kind == kArrive ? Order::release : waits ? Order::acquire : Order::relaxed;
  words.erase(words.begin(), words.begin() + 2);
  if (i.kind == kArrive && words[0] == "expect_tx") {
    i.kind = kArriveExpect;
    words.erase(words.begin());
  }
  if (!take_modifiers(words, i)) return false;
  i.sign = std::count(words.begin(), words.end(), "parity") != 0;
  if (given[0][0] == '[') given.insert(given.begin(), "_");  // result, address, value
  if (given.size() == 2) given.push_back("1");
  i.at[0] = names_.operand(given[0], waits ? 4 : 8).at;
  take_address(given[1], 1, i.offset, i);
  i.at[2] = names_.operand(given[2], waits && !i.sign ? 8 : 4).at;
  add(i);
  return true;
}

int Decoder::find_label(const Jump& jump) const {
  for (auto scope = jump.scopes.rbegin(); scope != jump.scopes.rend(); ++scope) {
    const auto found = flow_.labels.find({jump.label, *scope});
    if (found != flow_.labels.end()) return found->second;
  }
  refuse("the label " + jump.label);
}

}  // namespace

Kernel decode(const std::string& text, const std::string& name) {
  return Decoder(text, name).take();
}

int target_of(const std::string& text) {
  const std::size_t at = text.find(".target sm_");
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + 11);
}

}  // namespace cuda_double
