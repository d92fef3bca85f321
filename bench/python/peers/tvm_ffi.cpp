// tvm-ffi: borrowed views of tensors of any framework, and a tensor of its own.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

namespace ffi = tvm::ffi;

static bool is_matrix(const ffi::TensorView &view)
{
    return view.ndim() == 2 && view.dtype().code == kDLFloat && view.dtype().bits == 32 && view.dtype().lanes == 1 &&
           view.device().device_type == kDLCPU && view.IsContiguous();
}

static bool read(ffi::TensorView a, ffi::TensorView b, ffi::TensorView c)
{
    return is_matrix(a) && is_matrix(b) && is_matrix(c);
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(read, read);

struct HostAllocator {
    void AllocData(DLTensor *tensor) { tensor->data = new float[4]{1, 1, 1, 1}; }
    void FreeData(DLTensor *tensor) { delete[] static_cast<float *>(tensor->data); }
};

static ffi::Tensor ones()
{
    return ffi::Tensor::FromNDAlloc(HostAllocator(), ffi::Shape({4}), DLDataType{kDLFloat, 32, 1}, DLDevice{kDLCPU, 0});
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(ones, ones);
