# The functions that declare libraries, dialects and tests.

find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
find_package(Python3 COMPONENTS Interpreter)
# Tests in Python run in the environment that tools/setup made. Without one they
# run with the machine's python and say what is missing.
if(NOT TILEWRIGHT_PYTHON)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/setup --print-python
    OUTPUT_VARIABLE setup_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE setup_failed)
  if(setup_failed)
    message(WARNING "no Python environment yet, so tests in Python will fail: run tools/setup")
    set(setup_python "${Python3_EXECUTABLE}")
  endif()
  set(TILEWRIGHT_PYTHON "${setup_python}" CACHE FILEPATH "python with requirements.txt installed")
endif()

# tilewright_library(NAME [NO_LLVM] [HOT] SOURCES … [DEPENDS …] [LINK …])
#
# NO_LLVM  belongs to the half that never sees an LLVM header. This is checked
#          twice: the include path is not set, and test/repository reads it.
# HOT      optimised in every preset.
function(tilewright_library name)
  cmake_parse_arguments(ARG "NO_LLVM;HOT" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  tilewright_link(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  if(ARG_HOT)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Dev>:-O2>)
  endif()
  if(NOT ARG_NO_LLVM)
    tilewright_use_llvm(${name})
  endif()
endfunction()

# Headers and the shared PCH of the LLVM half.
function(tilewright_use_llvm name)
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  # HOT libraries are compiled with other flags than the PCH, so they do without.
  get_target_property(options ${name} COMPILE_OPTIONS)
  if(TILEWRIGHT_PCH AND NOT options MATCHES "-O2")
    target_precompile_headers(${name} REUSE_FROM tilewright_pch_ir)
    # CMake compiles programs with -fPIE; the PCH was made for libraries, and the
    # compiler refuses it when this differs.
    target_compile_options(${name} PRIVATE -fPIC)
  endif()
endfunction()

# Links our own targets as they are, and MLIR* or LLVM* components either as
# the two shared libraries or as archives. Never both in one program: MLIR
# identifies types by address, and two copies have two addresses.
function(tilewright_link name scope)
  set(want_dylib FALSE)
  foreach(lib IN LISTS ARGN)
    if(lib MATCHES "^(MLIR|LLVM)" AND TILEWRIGHT_LINK_MLIR_DYLIB)
      set(want_dylib TRUE)
    else()
      target_link_libraries(${name} ${scope} ${lib})
    endif()
  endforeach()
  if(want_dylib)
    target_link_libraries(${name} ${scope} MLIR LLVM)
  endif()
endfunction()

# Every test program, and with them the libraries that they need.
add_custom_target(tilewright_tests)
# CI runs the tests of the half without LLVM under sanitizers, and need not build them again.
set(TILEWRIGHT_TESTS_THAT_RAN "" CACHE STRING "tests that are not built by default: names, with | between them")

# tilewright_test(NAME [NO_LLVM] [HOT] [ONE_THREAD] SOURCES … [LINK …] [ARGS …] [LABELS …])
# A GoogleTest program, run by CTest as one test.
#
# ONE_THREAD  neither it nor what it tests has a second thread: left out under ThreadSanitizer.
function(tilewright_test name)
  cmake_parse_arguments(ARG "NO_LLVM;HOT;ONE_THREAD" "" "SOURCES;LINK;ARGS;LABELS" ${ARGN})
  if(ARG_ONE_THREAD AND TILEWRIGHT_SANITIZE STREQUAL "thread")
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  add_dependencies(tilewright_tests ${name})
  if(TILEWRIGHT_TESTS_THAT_RAN AND name MATCHES "^(${TILEWRIGHT_TESTS_THAT_RAN})$")
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
  tilewright_link(${name} PRIVATE ${ARG_LINK})
  target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest GTest::gtest_main Threads::Threads)
  target_compile_definitions(${name} PRIVATE
    TILEWRIGHT_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    TILEWRIGHT_CONFORMANCE_DIR="${TILEWRIGHT_CONFORMANCE_DIR}")
  if(ARG_HOT)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Dev>:-O2>)
  endif()
  if(NOT ARG_NO_LLVM)
    tilewright_use_llvm(${name})
  elseif(TILEWRIGHT_PCH)
    # Half of what compiling a test takes is GoogleTest. A PCH is for one level of optimisation.
    set(pch tilewright_pch_test)
    if(ARG_HOT)
      set(pch tilewright_pch_hot_test)
    endif()
    target_precompile_headers(${name} REUSE_FROM ${pch})
    target_compile_options(${name} PRIVATE -fPIC)
  endif()
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
endfunction()

# tilewright_pytest(NAME FILE [ARGS …] [LABELS …] [TIMEOUT seconds] [RUNNER …] [ENVIRONMENT …])
# A pytest file, run by CTest. Exit code 5 (no test collected) is a failure.
#
# RUNNER       a command that runs the command that follows it.
# ENVIRONMENT  more variables, NAME=VALUE each.
function(tilewright_pytest name file)
  cmake_parse_arguments(ARG "" "TIMEOUT" "ARGS;LABELS;RUNNER;ENVIRONMENT" ${ARGN})
  add_test(NAME ${name}
    COMMAND ${ARG_RUNNER} ${TILEWRIGHT_PYTHON} -m pytest -q -p no:cacheprovider ${file} ${ARG_ARGS}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "TILEWRIGHT_BUILD_DIR=${CMAKE_BINARY_DIR};TILEWRIGHT_CONFORMANCE_DIR=${TILEWRIGHT_CONFORMANCE_DIR};JAX_PLATFORMS=cpu;PYTHONDONTWRITEBYTECODE=1;${ARG_ENVIRONMENT}")
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
  if(ARG_TIMEOUT)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  endif()
endfunction()

if(TILEWRIGHT_PCH)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch_test.cpp CONTENT "")
  foreach(pch tilewright_pch_test tilewright_pch_hot_test)
    add_library(${pch} OBJECT ${CMAKE_BINARY_DIR}/pch_test.cpp)
    target_link_libraries(${pch} PRIVATE GTest::gmock GTest::gtest Threads::Threads)
    target_precompile_headers(${pch} PRIVATE <gmock/gmock.h> <gtest/gtest.h> <algorithm> <chrono> <functional>
      <map> <memory> <mutex> <optional> <random> <span> <string> <thread> <vector>)
  endforeach()
  target_compile_options(tilewright_pch_hot_test PRIVATE $<$<CONFIG:Dev>:-O2>)
endif()
if(TILEWRIGHT_LLVM AND TILEWRIGHT_PCH)
  # Only written when it changes, so that configuring again rebuilds nothing.
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch_ir.cpp CONTENT "")
  add_library(tilewright_pch_ir OBJECT ${CMAKE_BINARY_DIR}/pch_ir.cpp)
  target_include_directories(tilewright_pch_ir SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_precompile_headers(tilewright_pch_ir PRIVATE
    <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/PatternMatch.h> <mlir/IR/OpImplementation.h>
    <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Interfaces/InferTypeOpInterface.h>
    <mlir/Bytecode/BytecodeOpInterface.h> <mlir/Pass/Pass.h> <mlir/Dialect/Func/IR/FuncOps.h>)
endif()
