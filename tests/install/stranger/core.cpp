#include <cstdio>

#include <dlpark/dlpark.h>

int main()
{
    const std::int64_t shape[] = {2, 3};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    dlpark_error err;
    dlpark_tensor_desc desc{};

    desc.dtype = DLPARK_F32;
    desc.ndim = 2;
    desc.shape = DLPARK_DIMS(shape);
    if (dlpark_tensor_alloc(&tensor, &desc, &view, &err)) {
        std::fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    std::printf("dlpark %s: %d x %d\n", dlpark_version(), int(view.shape[0]), int(view.shape[1]));
    dlpark_tensor_release(&tensor);
    return 0;
}
