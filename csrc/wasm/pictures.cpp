// The preparation of pictures for a browser (show/classroom/prepare.js): JavaScript writes the
// bytes of a picture into this module's memory, calls, and reads the steps there.
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "images/prepare.hpp"

#define LENET_EXPORT extern "C" __attribute__((visibility("default")))

// Those of the library write what went wrong, which needs a system.
void* operator new(std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) __builtin_trap();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
namespace std {
inline namespace __1 {
[[noreturn]] void __libcpp_verbose_abort(const char*, ...) noexcept { __builtin_trap(); }
}  // namespace __1
}  // namespace std

namespace {

using namespace lenet::images;

std::vector<std::uint8_t> pixels;  // red, green, blue and alpha
Prepared prepared;

/// A step as JavaScript reads it, seven integers.
struct Seen {
  Name name;
  int height, width, channels;
  const float* values;
  int abouts;
  const int* about;
} seen;
static_assert(sizeof(Seen) == 7 * sizeof(std::int32_t));

Picture picture(int height, int width) {
  Picture made(height, width, 4);
  for (std::size_t n = 0; n < made.values.size(); ++n) made.values[n] = pixels[n] / 255.0F;
  return made;
}

/// How many steps there are, 0 where no pen strokes were found.
int keep(Prepared made) {
  prepared = std::move(made);
  return prepared.found ? static_cast<int>(prepared.steps.size()) : 0;
}

}  // namespace

LENET_EXPORT std::uint8_t* pixels_at(int bytes) {
  pixels.resize(bytes);
  return pixels.data();
}

LENET_EXPORT int explain_picture(int height, int width) {
  return keep(explain(picture(height, width)));
}

LENET_EXPORT int explain_pad(int height, int width) {
  return keep(explain_drawing(picture(height, width)));
}

LENET_EXPORT const Seen* step_at(int number) {
  const Step& step = prepared.steps[number];
  const Picture& made = step.picture;
  const auto abouts = static_cast<int>(step.about.size());
  seen = {step.name,          made.height, made.width,       made.channels,
          made.values.data(), abouts,      step.about.data()};
  return &seen;
}

LENET_EXPORT Side side_of_digit() { return prepared.side; }
