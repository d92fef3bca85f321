# NEON, run by qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc-12)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static;-L;/usr/aarch64-linux-gnu)
set(DLPARK_ARCH_TRIPLET aarch64-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/../Foreign.cmake)
