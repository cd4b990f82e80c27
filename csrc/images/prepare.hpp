// Any picture of a digit -> 28x28 as MNIST made its own:
//
//   opaque -> (sheet, margin) -> grey -> zoom -> light -> ink -> digit -> scale -> centre
//
// MNIST cut each digit out of a clean black-and-white form, fitted it into 20x20 pixels and put its
// centre of mass in the middle of 28x28. The steps up to `ink` make that clean form out of a photo.
// Python and the classroom's page (csrc/wasm/classroom.cpp) both call this.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "images/picture.hpp"

namespace lenet::images {

/// In the order of their names on both sides.
enum class Name { opaque, untouched, sheet, margin, grey, zoom, light, ink, digit, scale, centre };

/// Of `together` another digit is a part of what is read.
enum class Side { none, left, right, together };

/// One step, and its result.
struct Step {
  Name name;
  Picture picture;
  /// Of `grey` the number of the view, and 1 where it is turned; of `zoom` the first and the last
  /// column and row, or nothing where it is the whole picture.
  std::vector<int> about;
};

struct Prepared {
  std::vector<Step> steps;
  bool found = false;      // else there are no pen strokes, and the steps end where that was seen
  Side side = Side::none;  // of the digit, where there is another one
};

/// The steps from a picture to the network's input; the last one's picture is 28x28.
Prepared explain(Picture picture);

/// The steps from what was drawn on a clean white pad. It is ink as it is: there is no light, no
/// table and no colour to look for.
Prepared explain_drawing(const Picture& pad);

}  // namespace lenet::images
