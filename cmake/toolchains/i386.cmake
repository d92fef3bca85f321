# 32 bits, 64-bit integers aligned to 4; an x86-64 machine runs it by itself.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_C_COMPILER gcc-12)
set(CMAKE_C_FLAGS_INIT "-m32 -idirafter /usr/include/x86_64-linux-gnu") # asm/, which gcc-multilib would link to
set(CMAKE_CROSSCOMPILING_EMULATOR env)
set(DLPARK_ARCH_TRIPLET i386-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/../Foreign.cmake)
