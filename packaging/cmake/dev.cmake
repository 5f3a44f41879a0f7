# Initial cache of the dev build: cmake -C packaging/cmake/dev.cmake -B build/dev -G Ninja
set(CMAKE_CXX_COMPILER clang++-19 CACHE STRING "")
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(K3D_SANITIZE "" CACHE STRING "")
set(K3D_WERROR ON CACHE BOOL "")
