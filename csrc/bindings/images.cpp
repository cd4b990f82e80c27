// lenet_bench._images: any picture of a digit as MNIST would have made it.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings/released_gil.hpp"
#include "images/prepare.hpp"

namespace py = pybind11;
using lenet::images::Picture;

namespace {

Picture picture_of(const py::array_t<float, py::array::c_style | py::array::forcecast>& array) {
  const auto side = [&](int axis) { return static_cast<int>(array.shape(axis)); };
  Picture picture(side(0), side(1), array.ndim() == 3 ? side(2) : 1);
  picture.values.assign(array.data(), array.data() + array.size());
  return picture;
}

py::array_t<float> array_of(const Picture& picture) {
  std::vector<py::ssize_t> shape{picture.height, picture.width};
  if (picture.channels > 1) shape.push_back(picture.channels);
  return py::array_t<float>(shape, picture.values.data());
}

/// The steps as (name, about, picture), and whether pen strokes were found.
py::tuple explain(const py::array_t<float, py::array::c_style | py::array::forcecast>& array) {
  Picture picture = picture_of(array);
  lenet::images::Prepared prepared;
  {
    const lenet::bindings::ReleasedGil released;
    prepared = lenet::images::explain(std::move(picture));
  }
  py::list steps;
  for (const auto& step : prepared.steps) {
    steps.append(py::make_tuple(static_cast<int>(step.name), step.about, array_of(step.picture)));
  }
  return py::make_tuple(steps, prepared.found);
}

}  // namespace

PYBIND11_MODULE(_images, module, py::mod_gil_not_used()) {
  module.def("explain", &explain, py::arg("picture"));
}
