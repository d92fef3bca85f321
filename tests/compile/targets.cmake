# The layout on targets other than this machine: i386, 32-bit ARM, wasm32 (4-byte pointers with either alignment of a
# 64-bit integer), and the two 64-bit data models. Only clang can be pointed at any of them; gcc adds -m32.
#   cmake -DCOMPILERS=gcc;clang -DGNU=gcc -DCLANG=clang -P targets.cmake
include(${CMAKE_CURRENT_LIST_DIR}/compile.cmake)

set(wide -DEXPECT_POINTER=8 -DEXPECT_TENSOR=48 -DEXPECT_LEGACY=64 -DEXPECT_VERSIONED=80 -DEXPECT_TABLE=56)
set(narrow -DEXPECT_POINTER=4 -DEXPECT_TENSOR=36 -DEXPECT_LEGACY=44 -DEXPECT_VERSIONED=60 -DEXPECT_TABLE=32)
set(aligned -DEXPECT_POINTER=4 -DEXPECT_TENSOR=40 -DEXPECT_LEGACY=48 -DEXPECT_VERSIONED=64 -DEXPECT_TABLE=32)
set(source -ffreestanding ${here}/targets.c)

if(GNU)
  compile(ok ${GNU} c c11 -m32 ${narrow} ${source})
  compile(ok ${GNU} c c11 -m64 ${wide} ${source})
endif()
if(CLANG)
  foreach(flags IN ITEMS "" -fshort-enums)
    foreach(target IN ITEMS x86_64-linux-gnu aarch64-linux-gnu x86_64-pc-windows-msvc)
      compile(ok ${CLANG} c c11 --target=${target} ${flags} ${wide} ${source})
    endforeach()
    compile(ok ${CLANG} c c11 --target=i386-linux-gnu ${flags} ${narrow} ${source})
    foreach(target IN ITEMS armv7a-linux-gnueabihf arm-none-eabi wasm32 i686-pc-windows-msvc)
      compile(ok ${CLANG} c c11 --target=${target} ${flags} ${aligned} ${source})
    endforeach()
  endforeach()
  # The numbers themselves are looked at: those of another target are refused.
  compile(refused ${CLANG} c c11 TEXT "DLTensor" --target=wasm32 ${narrow} ${source})
  compile(refused ${CLANG} c c11 TEXT "DLTensor" --target=i386-linux-gnu ${aligned} ${source})
endif()
finish()
