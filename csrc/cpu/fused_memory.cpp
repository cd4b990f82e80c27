// A cache of 2 MB does not hold any 2 MB. A physical page can lie only in the 1/32 of it that some
// bits of its address name, its colour, and there is room for 16 pages of a colour. The system
// hands out pages without looking at their colours, so that of the packed weights' 1.9 MB many a
// page finds its place taken and comes from the third level for every image.
//
// No program may see physical addresses, but it can see time: a page that does not fit is slow to
// read. So more pages are taken than needed, the slow ones are traded for others until none is
// left, and the rest is given back. docs/fused.md has what it takes and what it buys.
#include "cpu/fused_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <vector>
#endif

namespace lenet {

#if defined(__linux__)
namespace {

using Page = char*;

const std::size_t kPageBytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
constexpr std::size_t kLineBytes = 64;

double nanoseconds_to_read(Page page) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (std::size_t at = 0; at < kPageBytes; at += kLineBytes) {
    static_cast<void>(*static_cast<volatile char*>(page + at));
  }
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

double middle(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// What each page takes while all are read over and over, forwards and backwards by turns as fc1
/// is: the middle of six, so that an interrupt does no harm.
std::vector<double> times_to_read(const std::vector<Page>& pages) {
  constexpr int kWarmUp = 3, kTimed = 6;
  std::vector<std::vector<double>> times(pages.size());
  for (int pass = 0; pass < kWarmUp + kTimed; ++pass) {
    for (std::size_t n = 0; n < pages.size(); ++n) {
      const std::size_t i = pass % 2 == 0 ? n : pages.size() - 1 - n;
      const double time = nanoseconds_to_read(pages[i]);
      if (pass >= kWarmUp) times[i].push_back(time);
    }
  }
  std::vector<double> middles;
  for (const std::vector<double>& of_page : times) middles.push_back(middle(of_page));
  return middles;
}

/// The first `count` pages, with the slow ones traded for others until all fit or it is enough.
std::vector<Page> choose(const std::vector<Page>& all, std::size_t count) {
  constexpr int kRounds = 40;
  constexpr std::size_t kEnough = 2;  // slow pages: the machine has something to do for others too
  constexpr double kSlow = 1.5;       // times the usual; out of the third level it is 3 and more
  const auto end_of_chosen = all.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Page> chosen(all.begin(), end_of_chosen), others(end_of_chosen, all.end());
  std::vector<Page> best = chosen;
  double best_total = 0;
  std::size_t next = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<double> times = times_to_read(chosen);
    double total = 0;
    for (const double time : times) total += time;
    if (round == 0 || total < best_total) {
      best_total = total;
      best = chosen;
    }
    const double slow = kSlow * middle(times);
    std::size_t slow_pages = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (times[i] <= slow || ++slow_pages % 2 != 0) continue;  // of two in each other's way, one
      std::swap(chosen[i], others[next]);
      next = (next + 1) % others.size();
    }
    if (slow_pages <= kEnough) break;
  }
  return best;
}

void* map(std::size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

}  // namespace

void FusedMemory::Free::operator()(void* memory) const { munmap(memory, bytes); }

FusedMemory::FusedMemory(std::size_t bytes) {
  constexpr std::size_t kTimesAsMany = 3;
  const std::size_t count = (bytes + kPageBytes - 1) / kPageBytes;
  memory_ = {map(count * kPageBytes), Free{count * kPageBytes}};
  char* const to = static_cast<char*>(memory_.get());
  char* const from = static_cast<char*>(map(kTimesAsMany * count * kPageBytes));
  madvise(from, kTimesAsMany * count * kPageBytes, MADV_NOHUGEPAGE);  // else pages cannot be moved
  std::vector<Page> all;
  for (std::size_t i = 0; i < kTimesAsMany * count; ++i) all.push_back(from + i * kPageBytes);
  for (const Page page : all) std::memset(page, 1, kPageBytes);  // now it is a page of its own

  // So much more is made to fit, then left free for what else the caller touches for an image.
  constexpr std::size_t kRoomBytes = 96 << 10;
  std::vector<Page> chosen = choose(all, count + kRoomBytes / kPageBytes);
  chosen.resize(count);
  for (std::size_t i = 0; i < count; ++i) {  // moved, not copied: it stays the same physical page
    void* const moved = mremap(chosen[i], kPageBytes, kPageBytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                               to + i * kPageBytes);
    if (moved == MAP_FAILED) munmap(chosen[i], kPageBytes);  // then what lies there serves
  }
  // One by one: where a page was moved away, another thread's memory may be by now.
  for (const Page page : all) {
    if (std::find(chosen.begin(), chosen.end(), page) == chosen.end()) munmap(page, kPageBytes);
  }
  std::memset(to, 0, bytes);
}

#else  // elsewhere pages cannot be moved

void FusedMemory::Free::operator()(void* memory) const { std::free(memory); }

FusedMemory::FusedMemory(std::size_t bytes) {
  constexpr std::size_t kAlignment = 4096;
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  memory_ = {std::aligned_alloc(kAlignment, rounded), Free{rounded}};
  if (memory_ == nullptr) throw std::bad_alloc();
  std::memset(memory_.get(), 0, bytes);
}

#endif

}  // namespace lenet
