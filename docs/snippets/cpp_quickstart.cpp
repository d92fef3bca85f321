#include <dlpark/dlpark.h>
#include <cstdio>
#include <vector>

int main()
{
    auto *values = new std::vector<float>{1, 2, 3, 4, 5, 6};
    const int shape[] = {2, 3};
    dlpark_tensor_desc desc{};                       // field by field; any integer type for the shape
    desc.data = values->data();
    desc.dtype = DLPARK_DTYPE_OF(float);
    desc.ndim = 2;
    desc.shape = DLPARK_DIMS(shape);
    desc.owner = values;
    desc.release = [](void *owner) { delete static_cast<std::vector<float> *>(owner); };

    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    dlpark_error err;
    if (dlpark_tensor_new(&tensor, &desc, &view, &err)) {
        std::fprintf(stderr, "%s\n", err.message);
        delete values;
        return 1;
    }
    if (const float *cpu = DLPARK_CPU(float, &view, &err)) std::printf("last %g\n", static_cast<double>(cpu[5]));
    dlpark_tensor_release(&tensor);                  // or dlpark_tensor_export() to whoever wants it
}
