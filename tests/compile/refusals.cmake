# What must not compile: the assertions of dlpack.h stop a build whose structs are not DLPack's, and say which.
#   cmake -DCOMPILERS=gcc;clang -P refusals.cmake
include(${CMAKE_CURRENT_LIST_DIR}/compile.cmake)

set(beside -DSTANDIN=103 -DUPSTREAM_FIRST -DFIRST=<dlpack/dlpack.h> -DSECOND=<dlpark/dlpack.h> ${here}/every_name.c)
# One text for each STANDIN_FAULT of upstream/dlpack/dlpack.h, from 1 on.
set(texts
    "offset of DLPackVersion.minor is not"
    "offset of DLDevice.device_id is not"
    "offset of DLDataType.bits is not"
    "size of DLDataType is not"
    "offset of DLTensor.ndim is not"
    "offset of DLTensor.dtype is not"
    "offset of DLTensor.shape is not"
    "size of DLTensor is not"
    "offset of DLManagedTensor.manager_ctx is not"
    "offset of DLManagedTensorVersioned.manager_ctx is not"
    "offset of DLManagedTensorVersioned.flags is not"
    "size of DLPackExchangeAPIHeader is not"
    "offset of DLPackExchangeAPI.managed_tensor_from_py_object_no_sync is not"
    "offset of DLPackExchangeAPI.dltensor_from_py_object_no_sync is not"
    "size of DLPackExchangeAPI is not")

foreach(compiler IN LISTS COMPILERS)
  compile(ok ${compiler} c c11 ${beside}) # unspoilt, the same command succeeds
  set(fault 0)
  foreach(text IN LISTS texts)
    math(EXPR fault "${fault} + 1")
    compile(refused ${compiler} c c11 TEXT "${text}" -Wno-error -w -DSTANDIN_FAULT=${fault} ${beside})
  endforeach()

  compile(ok ${compiler} c c11 ${here}/wrong_size.c)
  compile(refused ${compiler} c c11 TEXT "size of DLTensor is not" -DWRONG ${here}/wrong_size.c)

  # A foreign header's enum shrinks under -fshort-enums, and nothing can be done about it but to say so.
  compile(refused ${compiler} c c11 TEXT "DLDeviceType is not 4 bytes" -fshort-enums ${beside})

  compile(refused ${compiler} c c11 TEXT "of a later major version" -DLATER ${here}/foreign_version.c)
  compile(refused ${compiler} c c11 TEXT "from 0.6 on" ${here}/foreign_version.c)

  # Pointers, and arrays of another rank.
  compile(ok ${compiler} c c11 ${here}/not_an_array.c)
  foreach(wrong "2D(rows)" "2D(pointers)" "1D(flat)" "2D(lines)")
    compile(refused ${compiler} c c11 TEXT "is negative" -w "-DWRONG=DLPARK_ARRAY_${wrong}" ${here}/not_an_array.c)
  endforeach()
  compile(refused ${compiler} c c11 TEXT "not compatible with any" -w "-DWRONG=DLPARK_ARRAY_1D(matrix)"
          ${here}/not_an_array.c)

  # What is to go is warned of where it is called, with what to use instead, and nowhere else.
  compile(ok ${compiler} c c11 ${here}/deprecated.c)
  compile(refused ${compiler} c c11 TEXT "use deprecated_new" -DCALLS ${here}/deprecated.c)
endforeach()
finish()
