// Loads and stores: where they lead, what they find there, and whether they are in order.
#include <cstring>
#include <stdexcept>

#include "grid.hpp"

namespace cuda_double {
namespace {

Made how_made(const Instruction& i) {
  return i.order == Order::weak ? Made::weakly : Made::strongly;
}

bool includes(Scope scope, const Block& one, const Block& other) {
  return &one == &other || scope != Scope::block;
}

void put(Warp& w, std::uint32_t place, unsigned lane, const char* from, const Instruction& i) {
  char* const to = &w.registers[place + lane * i.in_register];
  if (i.width < i.in_register) {
    std::int64_t value = 0;
    std::memcpy(&value, from, i.width);
    const int unused = 64 - 8 * i.width;
    if (i.sign) value = std::int64_t(std::uint64_t(value) << unused) >> unused;
    std::memcpy(to, &value, i.in_register);
  } else {
    std::memcpy(to, from, i.width);
  }
}

/// A strong load hears what a strong store has told.
void hear(const char* word, const Access& access) {
  Grid& grid = access.warp.grid();
  const auto found = grid.messages.find(word);
  if (found == grid.messages.end()) return;
  const Grid::Message& message = found->second;
  const Block& here = access.warp.block;
  if (!includes(message.scope, *message.from, here) ||
      !includes(access.how.scope, here, *message.from)) {
    return;
  }
  if (access.how.order == Order::acquire) {
    access.warp.learn(message.known);
  } else {
    access.warp.view.loose.join(message.known);
  }
}

void tell(const char* word, const Access& access) {
  Warp& w = access.warp;
  if (access.how.order == Order::release) {
    w.grid().messages[word] = {w.publish(), access.how.scope, &w.block};
  } else {
    w.grid().messages[word] = {w.view.fenced, w.view.fence, &w.block};
  }
}

void load_from_host(std::uint64_t address, unsigned bytes, char* to, const Access& access) {
  Warp& w = access.warp;
  HostMemory& host = w.grid().host;
  const Instruction& i = access.how;
  if (i.order == Order::weak || i.scope != Scope::system) {
    const bool ahead = w.view.ahead_lanes >> access.lane & 1;
    const std::uint32_t known = w.view.now.seen.back();
    host.read(address, bytes, to, ahead ? std::max(known, w.view.ahead.seen.back()) : known);
    return;
  }
  w.stall.paused = true;
  if (!host.poll(address, bytes, to)) return;
  w.stall.paused = false;
  w.block.cluster.event = std::chrono::steady_clock::now();
  Knowledge news;
  news.past = host.heard;
  news.past.resize(w.grid().clocks);
  news.seen.resize(w.grid().clocks);
  if (i.order == Order::acquire) {
    host.copy();
    news.seen.back() = host.newest();
  }
  w.view.polled = true;
  w.learn(news);
}

void store_to_host(std::uint64_t address, unsigned bytes, const char* from, const Access& access) {
  Warp& w = access.warp;
  HostMemory& host = w.grid().host;
  const Instruction& i = access.how;
  const Epoch by = {w.view.now.seen[w.who], w.who, std::uint8_t(access.lane), how_made(i)};
  if (i.order == Order::weak || i.scope != Scope::system) {
    host.write(address, bytes, from, by);
    return;
  }
  if (i.order == Order::release) {
    host.release(w.publish());
  } else if (w.view.fence == Scope::system) {
    host.release(w.view.fenced);
  }
  if (!w.view.shared) w.view.shared = std::make_shared<Knowledge>(w.view.now);
  host.write_strong(address, bytes, from, by, w.view.shared);
}

}  // namespace

// where -------------------------------------------------------------------------------------------

Place place_of(const Access& access, std::uint32_t operand, std::int64_t offset) {
  Warp& w = access.warp;
  const Instruction& i = access.how;
  const std::uint64_t base = i.wide_address ? w.lanes<std::uint64_t>(operand)[access.lane]
                                            : w.lanes<std::uint32_t>(operand)[access.lane];
  std::uint64_t address = base + std::uint64_t(offset);
  Space space = i.space;
  if (space == Space::generic && address >> 40 == kSharedWindow >> 40) {
    address -= kSharedWindow;
    space = Space::cluster;
  }
  if (space == Space::global || space == Space::generic) return {nullptr, address};
  const std::uint64_t rank = address >> kRankShift;
  if (space == Space::shared || rank == 0) return {&w.block, address};
  const auto& blocks = w.block.cluster.blocks;
  if (rank > blocks.size()) w.fail("an address in no block of the cluster", i);
  return {blocks[rank - 1].get(), address & ((1u << kRankShift) - 1)};
}

void map_address(Warp& w, const Instruction& i) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(w.mask >> lane & 1)) continue;
    const unsigned rank = w.lanes<std::uint32_t>(i.at[2])[lane];
    if (rank >= w.block.cluster.blocks.size()) w.fail("a block that the cluster has not", i);
    w.lanes<std::uint32_t>(i.at[0])[lane] =
        w.lanes<std::uint32_t>(i.at[1])[lane] + ((rank + 1) << kRankShift);
  }
}

// in order ----------------------------------------------------------------------------------------

bool Warp::knows(const Epoch& epoch, unsigned lane) const {
  if (epoch.who == who) return epoch.lane == lane || epoch.clock < view.met;
  if (epoch.clock <= view.now.seen[epoch.who]) return true;
  return view.now.covers(epoch) || (view.ahead_lanes >> lane & 1 && view.ahead.covers(epoch));
}

Block::Block(Cluster& its_cluster, unsigned its_number)
    : cluster(its_cluster),
      number(its_number),
      first_warp(its_number * its_cluster.grid.warps_a_block),
      live(its_cluster.grid.warps_a_block),
      shared((its_cluster.grid.shared_bytes + 15) / 16 * 16, '\xff'),
      written(shared.size() / 4),
      reads(written.size() * live),
      past(its_cluster.grid.clocks) {}

char* Block::at(std::uint32_t offset, unsigned bytes, const Access& access) {
  Warp& w = access.warp;
  if (offset + std::uint64_t(bytes) > cluster.grid.shared_bytes) {
    w.fail("past the end of shared memory", access.how);
  }
  if (&w.block != this) {
    const auto first = w.view.now.seen.begin() + first_warp;
    const bool met = std::any_of(first, first + cluster.grid.warps_a_block,
                                 [](std::uint32_t clock) { return clock != 0; });
    if (!met || live == 0) {
      w.fail("a block's memory before it began or after its end", access.how);
    }
  }
  return &shared[offset];
}

void Block::read(std::uint32_t offset, unsigned bytes, const Access& access) {
  Warp& w = access.warp;
  for (std::uint32_t word = offset / 4; word < (offset + bytes + 3) / 4; ++word) {
    const Epoch& last = written[word];
    if (last.made == Made::as_mbarrier) w.fail("an mbarrier is read as data", access.how);
    if (!w.knows(last, access.lane) &&
        !(last.made == Made::strongly && how_made(access.how) == Made::strongly)) {
      w.fail("a race: read before it is known to be written", access.how);
    }
    const std::uint32_t now = w.view.now.seen[w.who];
    if (&w.block == this) {
      reads[word * cluster.grid.warps_a_block + w.number] = now;
    } else {
      far_reads[word][w.who] = visits[w.who] = now;
    }
  }
}

void Block::write(std::uint32_t offset, unsigned bytes, const Knowledge& writer, Epoch epoch,
                  const Access& access) {
  Warp& w = access.warp;
  const unsigned warps = cluster.grid.warps_a_block;
  for (std::uint32_t word = offset / 4; word < (offset + bytes + 3) / 4; ++word) {
    Epoch& last = written[word];
    if (last.made == Made::as_mbarrier) w.fail("an mbarrier is written as data", access.how);
    const bool own = epoch.who == w.who && last.who == w.who;
    const bool after = own ? w.knows(last, access.lane) : writer.follows(last);
    if (!after && !(last.made == Made::strongly && epoch.made == Made::strongly)) {
      w.fail("a race: written while another writes", access.how);
    }
    for (unsigned reader = 0; reader < warps; ++reader) {
      if (reads[word * warps + reader] > writer.past[first_warp + reader] &&
          first_warp + reader != epoch.who) {
        w.fail("a race: written while another still reads", access.how);
      }
    }
    if (!far_reads.empty() && far_reads.count(word)) {
      for (const auto& [reader, when] : far_reads[word]) {
        if (when > writer.past[reader]) {
          w.fail("a race: written while another block still reads", access.how);
        }
      }
    }
    last = epoch;
  }
  if (&w.block != this) visits[epoch.who] = epoch.clock;
}

char* Grid::global(std::uint64_t address, unsigned bytes, const Access& access, bool writes) {
  Warp& w = access.warp;
  const auto* const pointer = reinterpret_cast<const char*>(address);
  const auto inside = [&](const Piece& piece) {
    return pointer >= piece.start && pointer + bytes <= piece.start + piece.bytes;
  };
  auto found = std::find_if(devices_.begin(), devices_.end(),
                            [&](const Device& device) { return inside(device.piece); });
  if (found == devices_.end()) {
    const Piece piece = find_piece(pointer);
    if (piece.start == nullptr || !inside(piece)) w.fail("outside of the GPU's memory", access.how);
    found = devices_.insert(devices_.end(), {piece, {}});
  }
  if (found->piece.where == Where::mapped) return nullptr;
  if (found->piece.where != Where::device) w.fail("memory that is not mapped", access.how);
  std::vector<Epoch>& written = found->written;
  const std::size_t offset = std::size_t(pointer - found->piece.start);
  if (writes && written.empty()) written.resize(found->piece.bytes / 4 + 1);
  for (std::size_t word = offset / 4; !written.empty() && word < (offset + bytes + 3) / 4; ++word) {
    Epoch& last = written[word];
    const Made made = how_made(access.how);
    if (!w.knows(last, access.lane) && !(last.made == Made::strongly && made == Made::strongly)) {
      w.fail("a race: another wrote it, and nothing orders that before", access.how);
    }
    if (writes) last = {w.view.now.seen[w.who], w.who, std::uint8_t(access.lane), made};
  }
  return found->piece.memory + offset;
}

// what is done there ------------------------------------------------------------------------------

void load_parameter(Warp& w, const Instruction& i) {
  const std::vector<char>& parameter = w.grid().parameters[i.kind];
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(w.mask >> lane & 1)) continue;
    for (unsigned k = 0; k < i.count; ++k) {
      put(w, i.at[k], lane, &parameter.at(std::size_t(i.offset) + k * i.width), i);
    }
  }
}

void load(Warp& w, const Instruction& i) {
  const unsigned bytes = i.width * i.count;
  char from_host[64];
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(w.mask >> lane & 1)) continue;
    const Access access = {w, i, lane};
    const Place place = place_of(access, i.at[i.count], i.offset);
    if (place.at % bytes != 0) w.fail("an address that is not aligned", i);
    const char* from;
    if (place.block != nullptr) {
      from = place.block->at(std::uint32_t(place.at), bytes, access);
      place.block->read(std::uint32_t(place.at), bytes, access);
    } else {
      from = w.grid().global(place.at, bytes, access, false);
    }
    if (from == nullptr) {
      load_from_host(place.at, bytes, from_host, access);
      from = from_host;
    } else if (i.order != Order::weak) {
      hear(from, access);
    }
    for (unsigned k = 0; k < i.count; ++k) put(w, i.at[k], lane, from + k * i.width, i);
  }
}

void store(Warp& w, const Instruction& i) {
  const unsigned bytes = i.width * i.count;
  char data[64];
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(w.mask >> lane & 1)) continue;
    const Access access = {w, i, lane};
    const Place place = place_of(access, i.at[i.count], i.offset);
    if (place.at % bytes != 0) w.fail("an address that is not aligned", i);
    for (unsigned k = 0; k < i.count; ++k) {
      std::memcpy(data + k * i.width, &w.registers[i.at[k] + lane * i.in_register], i.width);
    }
    char* to;
    if (place.block != nullptr) {
      to = place.block->at(std::uint32_t(place.at), bytes, access);
      const Epoch epoch = {w.view.now.seen[w.who], w.who, std::uint8_t(lane), how_made(i)};
      place.block->write(std::uint32_t(place.at), bytes, w.view.now, epoch, access);
    } else {
      to = w.grid().global(place.at, bytes, access, true);
    }
    if (to == nullptr) {
      store_to_host(place.at, bytes, data, access);
      continue;
    }
    std::memcpy(to, data, bytes);
    if (i.order != Order::weak) tell(to, access);
  }
}

void store_async(Warp& w, const Instruction& i) {
  Arrival arrival = {};
  arrival.bytes = i.width * i.count;
  if (!w.view.shared) w.view.shared = std::make_shared<Knowledge>(w.view.now);
  arrival.sender = w.view.shared;
  arrival.from = &w;
  arrival.how = &i;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(w.mask >> lane & 1)) continue;
    const Access access = {w, i, lane};
    const Place data = place_of(access, i.at[i.count], i.offset);
    const Place barrier = place_of(access, i.at[i.count + 1], i.second_offset);
    if (data.block == nullptr || data.block != barrier.block) {
      w.fail("the data and its mbarrier are not in one block", i);
    }
    if (data.at % arrival.bytes != 0) w.fail("an address that is not aligned", i);
    for (unsigned k = 0; k < i.count; ++k) {
      std::memcpy(&arrival.data[k * i.width], &w.registers[i.at[k] + lane * i.in_register],
                  i.width);
    }
    arrival.block = data.block;
    arrival.data_at = std::uint32_t(data.at);
    arrival.mbarrier_at = std::uint32_t(barrier.at);
    data.block->at(arrival.data_at, arrival.bytes, access);
    data.block->mbarrier_at(arrival.mbarrier_at, access);
    w.block.cluster.arrivals.push_back(arrival);
  }
}

}  // namespace cuda_double
