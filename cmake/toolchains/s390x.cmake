# Big-endian, 64 bits, run by qemu-user. DLPARK_ARCH_ROOT: libraries of that machine that no cross package has (cmocka).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(CMAKE_C_COMPILER s390x-linux-gnu-gcc-12)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-s390x-static;-L;/usr/s390x-linux-gnu)
set(DLPARK_ARCH_TRIPLET s390x-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/../Foreign.cmake)
