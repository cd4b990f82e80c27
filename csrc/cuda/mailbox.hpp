// What a caller and a kernel say to each other through memory of the host that both can address.
//
// Every word carries the number of the request that it belongs to. A word is read and written
// whole, so who sees the number sees the value: neither side needs a flag, a bell or a fence, and
// the image is there with the first read that finds it.
#pragma once

#include "cuda/fused_geometry.hpp"

namespace lenet::gpu {

/// 64 bits for the host and for the GPU: a float, and above it the stamp.
using Word = unsigned long long;
/// request * kOrders + order; it may wrap.
using Stamp = unsigned;

enum Order : Stamp { kAnswer, kTellTimes, kLeave };
constexpr Stamp kOrders = 4;

/// The kernel that stays leaves the GPU when nobody has called for kIdle, and with the first answer
/// after kLife; the next call launches it again. So it never outlives its owner, no display waits
/// for it, and whoever waits for the whole GPU (cudaFree does) gets it.
constexpr unsigned long long kIdle = 5'000'000;    // nanoseconds
constexpr unsigned long long kLife = 100'000'000;  // a launch costs microseconds of that

/// In nanoseconds, on demand.
enum Time { kForwarding, kComputing, kTimes };

/// What the host writes and what the GPU writes never share a cache line.
struct Mailbox {
  alignas(128) Word image[kImagePixels];        // from the host
  alignas(128) Word answer[kClasses + kTimes];  // from the kernel
  alignas(128) unsigned ended;  // the last launch that has left, written after all it answered
};

/// Of one launch of a kernel that stays.
struct Launch {
  Mailbox* mailbox;  // at the address that the GPU knows
  Stamp request;     // the first to wait for
  unsigned number;   // what `ended` becomes
};

}  // namespace lenet::gpu
