// pybind11, as its documentation has it: NumPy arrays only, converted when they do not fit.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;

using Matrix = py::array_t<float, py::array::c_style>;

PYBIND11_MODULE(bench_pybind11, m)
{
    m.def(
        "read",
        [](const Matrix &a, const Matrix &b, const Matrix &c) {
            return a.ndim() == 2 && b.ndim() == 2 && c.ndim() == 2 && a.data() != b.data();
        },
        py::arg().noconvert(), py::arg().noconvert(), py::arg().noconvert());
    m.def(
        "write",
        [](const Matrix &a, const Matrix &b, Matrix &c) {
            return a.ndim() == 2 && b.ndim() == 2 && c.ndim() == 2 && a.data() != c.mutable_data();
        },
        py::arg().noconvert(), py::arg().noconvert(), py::arg().noconvert());
    m.def("ones_numpy", []() {
        py::array_t<float> made(4);
        for (py::ssize_t i = 0; i < 4; i++)
            made.mutable_data()[i] = 1;
        return made;
    });
}
