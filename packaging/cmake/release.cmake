# Initial cache of the release build: cmake -C packaging/cmake/release.cmake -B build/release -G Ninja
set(CMAKE_CXX_COMPILER clang++-19 CACHE STRING "")
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(K3D_SANITIZE "" CACHE STRING "")
set(K3D_WERROR OFF CACHE BOOL "")
