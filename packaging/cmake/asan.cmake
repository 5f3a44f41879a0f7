# Initial cache of the asan build: cmake -C packaging/cmake/asan.cmake -B build/asan -G Ninja
set(CMAKE_CXX_COMPILER clang++-19 CACHE STRING "")
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(K3D_SANITIZE "address,undefined" CACHE STRING "")
set(K3D_WERROR ON CACHE BOOL "")
