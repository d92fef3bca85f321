// nanobind, as its documentation has it: constraints in the type, results by framework.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

using Matrix = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MatrixConst = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename Framework> static nb::ndarray<Framework, float, nb::ndim<1>> ones()
{
    float *data = new float[4]{1, 1, 1, 1};
    nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<float *>(p); });
    return nb::ndarray<Framework, float, nb::ndim<1>>(data, {4}, owner);
}

static nb::ndarray<nb::array_api, float, nb::ndim<1>> ones_plain()
{
    float *data = new float[4]{1, 1, 1, 1};
    nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<float *>(p); });
    return nb::ndarray<nb::array_api, float, nb::ndim<1>>(data, {4}, owner);
}

NB_MODULE(bench_nanobind, m)
{
    m.def("read", [](MatrixConst a, MatrixConst b, MatrixConst c) { return a.data() != b.data() && b.data() != c.data(); });
    m.def("write", [](MatrixConst a, MatrixConst b, Matrix c) { return a.data() != b.data() && b.data() != c.data(); });
    m.def("ones_numpy", &ones<nb::numpy>);
    m.def("ones_torch", &ones<nb::pytorch>);
    m.def("ones", &ones_plain); // an object with the protocol
}
