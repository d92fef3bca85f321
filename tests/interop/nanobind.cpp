// nanobind as a partner: any array is kept, and given out again by the protocol.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

NB_MODULE(interop_nanobind, m)
{
    m.def("keep", [](nb::ndarray<> array) { return nb::ndarray<nb::array_api>(array); });
    m.def("keep", [](nb::ndarray<nb::ro> array) { return nb::ndarray<nb::array_api, nb::ro>(array); });
    m.def("address", [](nb::ndarray<nb::ro> array) { return reinterpret_cast<uintptr_t>(array.data()); });
}
