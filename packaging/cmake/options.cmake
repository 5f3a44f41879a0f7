# k3d_options: language, warnings, definitions and include root of every room; third parties as targets.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(K3D_TESTS "Build the tests" ON)
option(K3D_FUZZ "Build the fuzz targets (clang's libFuzzer)" OFF)
option(K3D_WERROR "Warnings are errors" OFF)
set(K3D_SANITIZE "" CACHE STRING "address,undefined or thread")

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(CURL 7.85 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(YAML_CPP REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)

add_library(k3d_options INTERFACE)
target_include_directories(k3d_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
target_include_directories(k3d_options SYSTEM INTERFACE ${Boost_INCLUDE_DIRS})
target_compile_definitions(k3d_options INTERFACE
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED
  BOOST_ASIO_DISABLE_BOOST_COROUTINE JSON_USE_IMPLICIT_CONVERSIONS=0 JSON_DIAGNOSTICS=0)
target_compile_options(k3d_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
  -Woverloaded-virtual -Werror=switch -Werror=return-type -Werror=unused-result)
if(K3D_WERROR)
  target_compile_options(k3d_options INTERFACE -Werror)
endif()
if(K3D_SANITIZE)
  target_compile_options(k3d_options INTERFACE -fsanitize=${K3D_SANITIZE} -fno-omit-frame-pointer -g1)
  target_link_options(k3d_options INTERFACE -fsanitize=${K3D_SANITIZE})
endif()
if(K3D_FUZZ)
  target_compile_options(k3d_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_link_libraries(k3d_options INTERFACE Threads::Threads)

# k3d_room(NAME SOURCES... [LINKS targets...]): one static library of a folder.
function(k3d_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(${name} PUBLIC k3d_options ${ROOM_LINKS})
endfunction()
