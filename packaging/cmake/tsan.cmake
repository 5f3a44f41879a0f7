# Initial cache of the tsan build: cmake -C packaging/cmake/tsan.cmake -B build/tsan -G Ninja
set(CMAKE_CXX_COMPILER clang++-19 CACHE STRING "")
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(K3D_SANITIZE "thread" CACHE STRING "")
set(K3D_WERROR ON CACHE BOOL "")
