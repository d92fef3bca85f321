// nanobind as a partner: any array is kept, and given out again by the protocol.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <vector>

namespace nb = nanobind;

// Returned as it came, an array would be the caller's own object again: nanobind keeps it beside the tensor.
template <typename... Constness> static nb::ndarray<nb::array_api, Constness...> keep(nb::ndarray<Constness...> array)
{
    std::vector<size_t> shape(array.ndim());
    std::vector<int64_t> strides(array.ndim());
    for (size_t i = 0; i < array.ndim(); i++) {
        shape[i] = array.shape(i);
        strides[i] = array.stride(i);
    }
    nb::capsule owner(new nb::ndarray<Constness...>(array),
                      [](void *held) noexcept { delete static_cast<nb::ndarray<Constness...> *>(held); });
    return {array.data(),    array.ndim(),  shape.data(),        owner,
            strides.data(), array.dtype(), array.device_type(), array.device_id()};
}

NB_MODULE(interop_nanobind, m)
{
    m.def("keep", &keep<>);
    m.def("keep", &keep<nb::ro>);
    m.def("address", [](nb::ndarray<nb::ro> array) { return reinterpret_cast<uintptr_t>(array.data()); });
}
