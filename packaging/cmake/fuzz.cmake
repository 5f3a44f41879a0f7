# Initial cache of the fuzz build: cmake -C packaging/cmake/fuzz.cmake -B build/fuzz -G Ninja
set(CMAKE_CXX_COMPILER clang++-19 CACHE STRING "")
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(K3D_SANITIZE "address,undefined" CACHE STRING "")
set(K3D_FUZZ ON CACHE BOOL "")
