#include "host_memory.hpp"

#include <chrono>
#include <cstring>
#include <thread>

namespace cuda_double {
namespace {

std::vector<char> as_it_is(const Piece& piece) {
  std::vector<char> bytes((piece.bytes + 7) / 8 * 8);
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const auto* word = reinterpret_cast<const std::uint64_t*>(piece.start + at);
    const std::uint64_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    std::memcpy(&bytes[at], &value, 8);
  }
  return bytes;
}

}  // namespace

HostMemory::Mapped& HostMemory::mapped(std::uint64_t address) {
  const auto* const pointer = reinterpret_cast<const char*>(address);
  for (Mapped& known : pieces_) {
    if (pointer >= known.piece.start && pointer < known.piece.start + known.piece.bytes)
      return known;
  }
  const Piece piece = find_piece(pointer);
  const std::vector<char> now = as_it_is(piece);
  pieces_.push_back({piece, {newest_ + 1, now}, now});
  return pieces_.back();
}

void HostMemory::copy() {
  ++newest_;
  for (Mapped& each : pieces_) {
    each.seen = as_it_is(each.piece);
    each.copies.push_back(each.seen);
  }
}

void HostMemory::read(std::uint64_t address, unsigned bytes, char* to, std::uint32_t as_of) {
  const Mapped& from = mapped(address);
  std::memcpy(to, &from.copies[as_of][reinterpret_cast<char*>(address) - from.piece.start], bytes);
}

bool HostMemory::poll(std::uint64_t address, unsigned bytes, char* to) {
  Mapped& from = mapped(address);
  const std::size_t start = reinterpret_cast<char*>(address) - from.piece.start;
  bool news = false;
  for (std::size_t at = start / 8 * 8; at < start + bytes; at += 8) {
    const auto* word = reinterpret_cast<const std::uint64_t*>(from.piece.start + at);
    const std::uint64_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    if (std::memcmp(&from.seen[at], &value, 8) == 0 || dice_() % 2 == 0) continue;
    std::memcpy(&from.seen[at], &value, 8);
    news = true;
  }
  std::memcpy(to, &from.seen[start], bytes);
  return news;
}

void HostMemory::write(std::uint64_t address, unsigned bytes, const char* from, Epoch by) {
  write_strong(address, bytes, from, by, nullptr);
}

/// By 64-bit words, each of which may go before the others.
void HostMemory::write_strong(std::uint64_t address, unsigned bytes, const char* from, Epoch by,
                              std::shared_ptr<const Knowledge> writer) {
  for (unsigned done = 0; done < bytes; done += 8) {
    Store store = {address + done, {}, std::min(8u, bytes - done), by, writer};
    std::memcpy(store.bytes, from + done, store.count);
    stores_.push_back(store);
  }
}

void HostMemory::send(const Store& store) {
  auto* const to = reinterpret_cast<char*>(store.address);
  if (store.count == 8) {
    std::uint64_t value;
    std::memcpy(&value, store.bytes, 8);
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(to), value, __ATOMIC_RELEASE);
  } else if (store.count == 4) {
    std::uint32_t value;
    std::memcpy(&value, store.bytes, 4);
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(to), value, __ATOMIC_RELEASE);
  } else {
    std::memcpy(to, store.bytes, store.count);
  }
  if (store.writer) join(heard, store.writer->past);
}

void HostMemory::release(const Knowledge& known) {
  std::vector<Store> kept;
  for (const Store& store : stores_) {
    if (known.covers(store.by)) {
      send(store);
    } else {
      kept.push_back(store);
    }
  }
  stores_ = std::move(kept);
}

bool HostMemory::send_one() {
  if (stores_.empty()) return false;
  std::size_t chosen = dice_() % stores_.size();
  for (std::size_t tried = 0; !stores_[chosen].writer; ++tried) {
    if (tried == stores_.size()) return false;
    chosen = (chosen + 1) % stores_.size();
  }
  for (std::size_t first = 0; first < chosen; ++first) {  // one word's go in order
    if (stores_[first].address / 8 == stores_[chosen].address / 8) chosen = first;
  }
  send(stores_[chosen]);
  stores_.erase(stores_.begin() + std::ptrdiff_t(chosen));
  // Now and then the host has time to look, before the next one goes.
  if (dice_() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  return true;
}

void HostMemory::send_all() {
  for (const Store& store : stores_) send(store);
  stores_.clear();
}

}  // namespace cuda_double
