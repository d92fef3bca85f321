# What the toolchain files share: where cmocka for the other machine lies, as tools/nightly_arch.sh unpacks it.
# DLPARK_ARCH_ROOT is that folder; it reaches the projects that CMake makes to try the compiler as well.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES DLPARK_ARCH_ROOT)
set(libraries ${DLPARK_ARCH_ROOT}/usr/lib/${DLPARK_ARCH_TRIPLET})
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${DLPARK_ARCH_ROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath,${libraries}")
set(CMAKE_FIND_ROOT_PATH ${DLPARK_ARCH_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_CXX_COMPILER NOTFOUND) # the one that would be found is this machine's
