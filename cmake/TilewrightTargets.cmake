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

if(NOT TILEWRIGHT_TORCH_PYTHON)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/setup --print-torch-python
    OUTPUT_VARIABLE setup_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(TILEWRIGHT_TORCH_PYTHON "${setup_python}" CACHE FILEPATH "python with torch and triton; empty: no tests of torch programs")
endif()

# tilewright_library(NAME [NO_LLVM] [HOT] [COLD_UNDER sanitizer] [PCH KIND] SOURCES … [DEPENDS …] [LINK …])
#
# NO_LLVM     belongs to the half that never sees an LLVM header. This is checked
#             twice: the include path is not set, and test/repository reads it.
# HOT         optimised in every preset.
# COLD_UNDER  but not under this sanitizer (address or thread), whose tests spend less time in it than optimising takes.
# PCH         the precompiled headers of the LLVM half: ir, ops (with the dialects) or nvvm; "ir" unless given.
function(tilewright_library name)
  cmake_parse_arguments(ARG "NO_LLVM;HOT" "COLD_UNDER;PCH" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES}) # only if a program needs it
  tilewright_group_files(${name})
  tilewright_link(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  if(ARG_HOT AND NOT (ARG_COLD_UNDER AND TILEWRIGHT_SANITIZE MATCHES "${ARG_COLD_UNDER}"))
    target_compile_options(${name} PRIVATE $<$<CONFIG:Dev>:-O2>)
  endif()
  if(NOT ARG_NO_LLVM)
    tilewright_use_llvm(${name} ${ARG_PCH})
  else()
    tilewright_use_pch(${name} std)
  endif()
endfunction()

# With TILEWRIGHT_FILES_PER_UNIT, the compiler reads several files of a target as one unit, in the order in which the target lists
# them, because most of the time of a small file goes into headers and their templates. Not in groups: a file that has options of
# its own, and one marked SKIP_UNITY_BUILD_INCLUSION: a name in it means something else in another file of the target,
# or a program links it without the others.
# CMake's own UNITY_BUILD writes absolute paths into its units, so that ccache would know none of them in another checkout.
set(TILEWRIGHT_FILES_PER_UNIT 1 CACHE STRING "how many files of a target are compiled as one unit; .ci/run takes 8")
function(tilewright_group_files name)
  if(TILEWRIGHT_FILES_PER_UNIT GREATER 1)
    # At the end of the folder, when its files have their properties. EVAL puts the name in now.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL tilewright_group_files_now ${name})")
  endif()
endfunction()
function(tilewright_group_files_now name)
  get_target_property(sources ${name} SOURCES)
  set(compiled "")
  set(group "")
  foreach(source IN LISTS sources)
    set(alone FALSE)
    foreach(property COMPILE_DEFINITIONS COMPILE_OPTIONS GENERATED INCLUDE_DIRECTORIES OBJECT_DEPENDS SKIP_UNITY_BUILD_INCLUSION)
      get_source_file_property(value ${source} ${property})
      if(value)
        set(alone TRUE)
      endif()
    endforeach()
    if(alone OR IS_ABSOLUTE ${source} OR NOT source MATCHES "\\.cpp$")
      list(APPEND compiled ${source})
      continue()
    endif()
    list(APPEND group ${source})
    list(LENGTH group files)
    if(files EQUAL TILEWRIGHT_FILES_PER_UNIT)
      tilewright_write_unit(${name} "${group}" compiled)
      set(group "")
    endif()
  endforeach()
  if(group)
    tilewright_write_unit(${name} "${group}" compiled)
  endif()
  set_property(TARGET ${name} PROPERTY SOURCES ${compiled})
endfunction()
# Adds to the list `units` a unit that includes the files.
function(tilewright_write_unit name files units)
  list(GET files 0 unit)
  list(LENGTH files count)
  if(count GREATER 1)
    set(text "")
    foreach(file IN LISTS files)
      file(REAL_PATH ${file} path)
      file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${path})
      string(APPEND text "#include \"${path}\"\n")
    endforeach()
    string(REPLACE "/" "." unit ${unit}) # named after its first file
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/units/${name}/${unit})
    file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY) # only written when it changes
  endif()
  set(${units} ${${units}} ${unit} PARENT_SCOPE)
endfunction()

# tilewright_dialect(NAME [ENUMS] [ATTRS] [TYPES] [GROUPS GROUP …] [INTERFACES GROUP …])
#
# Runs mlir-tblgen on NAMEOps.td: the dialect, its ops, and what else it is told. A GROUP has more ops, in
# GROUPOps.td, and perhaps interfaces of them. TilewrightNAMEIncGen is the target that others depend on.
function(tilewright_dialect name)
  cmake_parse_arguments(ARG "ENUMS;ATTRS;TYPES" "" "GROUPS;INTERFACES" ${ARGN})
  string(TOLOWER ${name} dialect)
  set(LLVM_TARGET_DEFINITIONS ${name}Ops.td)
  mlir_tablegen(${name}Dialect.h.inc -gen-dialect-decls -dialect=${dialect})
  mlir_tablegen(${name}Dialect.cpp.inc -gen-dialect-defs -dialect=${dialect})
  if(ARG_ENUMS)
    mlir_tablegen(${name}Enums.h.inc -gen-enum-decls)
    mlir_tablegen(${name}Enums.cpp.inc -gen-enum-defs)
  endif()
  if(ARG_ATTRS)
    mlir_tablegen(${name}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${dialect})
    mlir_tablegen(${name}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${dialect})
  endif()
  if(ARG_TYPES)
    mlir_tablegen(${name}Types.h.inc -gen-typedef-decls -typedefs-dialect=${dialect})
    mlir_tablegen(${name}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${dialect})
  endif()
  foreach(group ${name} ${ARG_GROUPS})
    set(LLVM_TARGET_DEFINITIONS ${group}Ops.td)
    mlir_tablegen(${group}Ops.h.inc -gen-op-decls)
    mlir_tablegen(${group}Ops.cpp.inc -gen-op-defs)
  endforeach()
  foreach(group ${ARG_INTERFACES})
    set(LLVM_TARGET_DEFINITIONS ${group}Ops.td)
    mlir_tablegen(${group}Interface.h.inc -gen-op-interface-decls)
    mlir_tablegen(${group}Interface.cpp.inc -gen-op-interface-defs)
  endforeach()
  add_public_tablegen_target(Tilewright${name}IncGen)
endfunction()

# Uses the shared PCH of a kind (std, test, ir, ops, ops_test, nvvm) that was made for this target's level of optimisation: the
# compiler refuses one that was made for another.
function(tilewright_use_pch name kind)
  if(NOT TILEWRIGHT_PCH)
    return()
  endif()
  get_target_property(options ${name} COMPILE_OPTIONS)
  if(options MATCHES "-O2")
    set(kind hot_${kind})
  endif()
  target_precompile_headers(${name} REUSE_FROM tilewright_pch_${kind})
  # CMake compiles programs with -fPIE; the PCH was made for libraries, and the
  # compiler refuses it when this differs.
  target_compile_options(${name} PRIVATE -fPIC)
endfunction()

# Headers and a shared PCH of the LLVM half.
function(tilewright_use_llvm name)
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  tilewright_use_pch(${name} ${ARGN} ir)
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

# For a program or a library that users install: it brings its own libstdc++ and libgcc, and needs no symbol that
# glibc 2.34 lacks, so that a machine of 2021 loads it. Only where TILEWRIGHT_PORTABLE is on, as in the preset release:
# libLLVM.so, which the other presets link, has a libstdc++ of its own.
function(tilewright_ships name)
  if(TILEWRIGHT_PORTABLE)
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
    target_link_libraries(${name} PRIVATE TilewrightOlderGlibc)
  endif()
endfunction()
# Objects and not an archive: they must come before libc, whatever the order of libraries.
add_library(TilewrightOlderGlibc OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tools/library/OlderGlibc.cpp)
set_target_properties(TilewrightOlderGlibc PROPERTIES CXX_VISIBILITY_PRESET hidden)

# CI runs many tests of the half without LLVM under a sanitizer, and need not build them again.
set(TILEWRIGHT_TESTS_THAT_RAN "" CACHE STRING "tests that are not built by default: names, with | between them")
option(TILEWRIGHT_SANITIZE_ALL "under a sanitizer, have also the tests that .ci/run leaves to .ci/nightly" OFF)

# Sets `result` to whether this build has tests that .ci/run runs only under the given sanitizers (a list of `address` and
# `thread`; empty: without any). Sanitizers make programs ten times as slow to compile and to run, so that in .ci/run
# what reads bytes of strangers runs under AddressSanitizer, what has threads of its own under ThreadSanitizer, and the
# rest without; .ci/nightly runs everything under both.
function(tilewright_has_tests_under result)
  set(${result} TRUE PARENT_SCOPE)
  if(NOT TILEWRIGHT_SANITIZE OR TILEWRIGHT_SANITIZE_ALL)
    return()
  endif()
  foreach(sanitizer IN LISTS ARGN)
    if(TILEWRIGHT_SANITIZE MATCHES ${sanitizer})
      return()
    endif()
  endforeach()
  set(${result} FALSE PARENT_SCOPE)
endfunction()

# tilewright_test(NAME [NO_LLVM] [HOT] [ONE_THREAD] [UNDER sanitizer …] SOURCES … [LINK …] [ARGS …] [LABELS …])
# A GoogleTest program, run by CTest as one test.
#
# ONE_THREAD  neither it nor what it tests has a second thread: left out under ThreadSanitizer.
# UNDER       the sanitizers that it runs under in .ci/run (see above), `none` for none; by default those of the folder,
#             TILEWRIGHT_TESTS_UNDER, and both where no folder says so.
function(tilewright_test name)
  cmake_parse_arguments(ARG "NO_LLVM;HOT;ONE_THREAD" "" "SOURCES;LINK;ARGS;LABELS;UNDER" ${ARGN})
  if(ARG_ONE_THREAD AND TILEWRIGHT_SANITIZE STREQUAL "thread")
    return()
  endif()
  if(NOT ARG_UNDER)
    set(ARG_UNDER ${TILEWRIGHT_TESTS_UNDER})
  endif()
  if(NOT ARG_UNDER)
    set(ARG_UNDER address thread)
  endif()
  tilewright_has_tests_under(wanted ${ARG_UNDER})
  if(NOT wanted)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  tilewright_group_files(${name})
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
    tilewright_use_llvm(${name} ops_test)
  else()
    tilewright_use_pch(${name} test)
  endif()
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
endfunction()

# tilewright_alone(NAME …): tests of programs that promise times, which .ci/nightly runs by themselves (NAME-alone) and holds
# to them. Elsewhere their bounds are wide (tilewright/support/testing/Slowness.h).
function(tilewright_alone)
  foreach(name IN LISTS ARGN)
    if(TEST ${name} AND NOT TILEWRIGHT_SANITIZE)
      add_test(NAME ${name}-alone COMMAND ${name})
      set_tests_properties(${name}-alone PROPERTIES LABELS slow TIMEOUT 900 ENVIRONMENT TILEWRIGHT_TEST_ALONE=1)
    endif()
  endforeach()
endfunction()

# tilewright_pytest(NAME FILE [WHEEL] [ARGS …] [LABELS …] [TIMEOUT seconds] [RUNNER …] [ENVIRONMENT …])
# A pytest file, run by CTest. Exit code 5 (no test collected) is a failure.
#
# WHEEL        needs the wheel of this build, which the test wheel-made makes first, once for all.
# RUNNER       a command that runs the command that follows it.
# ENVIRONMENT  more variables, NAME=VALUE each.
set(TILEWRIGHT_TEST_WHEEL ${CMAKE_BINARY_DIR}/test/wheel/made) # the folder
function(tilewright_pytest name file)
  cmake_parse_arguments(ARG "WHEEL" "TIMEOUT;PYTHON" "ARGS;LABELS;RUNNER;ENVIRONMENT" ${ARGN})
  if(NOT ARG_PYTHON)
    set(ARG_PYTHON ${TILEWRIGHT_PYTHON})
  endif()
  add_test(NAME ${name}
    COMMAND ${ARG_RUNNER} ${ARG_PYTHON} -m pytest -q -p no:cacheprovider ${file} ${ARG_ARGS}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "TILEWRIGHT_BUILD_DIR=${CMAKE_BINARY_DIR};TILEWRIGHT_CONFORMANCE_DIR=${TILEWRIGHT_CONFORMANCE_DIR};JAX_PLATFORMS=cpu;PYTHONDONTWRITEBYTECODE=1;${ARG_ENVIRONMENT}")
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
  if(ARG_WHEEL)
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED wheel)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT TILEWRIGHT_TEST_WHEEL=${TILEWRIGHT_TEST_WHEEL})
  endif()
  if(ARG_TIMEOUT)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  endif()
endfunction()

# tilewright_pch(KIND LIBRARIES … HEADERS …)
# Two precompiled headers: tilewright_pch_KIND, and tilewright_pch_hot_KIND for HOT targets.
function(tilewright_pch kind)
  cmake_parse_arguments(ARG "" "" "LIBRARIES;HEADERS" ${ARGN})
  # Only written when it changes, so that configuring again rebuilds nothing.
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch_${kind}.cpp CONTENT "")
  foreach(pch tilewright_pch_${kind} tilewright_pch_hot_${kind})
    add_library(${pch} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/pch_${kind}.cpp)
    target_link_libraries(${pch} PRIVATE ${ARG_LIBRARIES})
    target_precompile_headers(${pch} PRIVATE ${ARG_HEADERS})
  endforeach()
  target_compile_options(tilewright_pch_hot_${kind} PRIVATE $<$<CONFIG:Dev>:-O2>)
endfunction()

# Parsing headers is most of what compiling a unit takes, so that these have what many units include.
if(TILEWRIGHT_PCH)
  set(standard_headers <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <condition_variable> <cstring>
    <functional> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <thread>
    <tuple> <unordered_map> <utility> <variant> <vector>)
  tilewright_pch(std LIBRARIES Threads::Threads HEADERS ${standard_headers})
  set(test_headers LIBRARIES GTest::gmock GTest::gtest Threads::Threads HEADERS <gmock/gmock.h> <gtest/gtest.h>)
  tilewright_pch(test ${test_headers} <random> ${standard_headers})
endif()
if(TILEWRIGHT_LLVM AND TILEWRIGHT_PCH)
  set(ir_headers <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/PatternMatch.h> <mlir/IR/OpImplementation.h>
    <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Interfaces/InferTypeOpInterface.h>
    <mlir/Bytecode/BytecodeOpInterface.h> <mlir/Pass/Pass.h> <mlir/Dialect/Func/IR/FuncOps.h>)
  tilewright_pch(ir HEADERS ${ir_headers})
  # The classes of ops, of MLIR's dialects and of Tilewright's, are the largest headers of all. A change of one of
  # Tilewright's compiles every unit that uses this again, in less time than those that include it took when each parsed it.
  set(ops_headers ${ir_headers} ${standard_headers} <deque> <random> <llvm/ADT/TypeSwitch.h> <llvm/Support/FormatVariadic.h>
    <mlir/Dialect/Affine/IR/AffineOps.h> <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Complex/IR/Complex.h>
    <mlir/Dialect/Math/IR/Math.h> <mlir/Dialect/Quant/IR/QuantTypes.h> <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/Tensor/IR/Tensor.h> <mlir/IR/IRMapping.h> <mlir/IR/Matchers.h> <mlir/IR/Remarks.h>
    <mlir/Parser/Parser.h> <mlir/Pass/PassManager.h>
    <tilewright/dialect/exec/ExecDialect.h> <tilewright/dialect/sdy/SdyDialect.h>
    <tilewright/dialect/stablehlo/StablehloOps.h> <tilewright/dialect/tile/SortOps.h>
    <tilewright/dialect/tile/TileDialect.h> <tilewright/dialect/tile/WindowOps.h>)
  tilewright_pch(ops HEADERS ${ops_headers})
  tilewright_pch(ops_test ${test_headers} ${ops_headers})
  # The nvvm dialect takes ten seconds to parse.
  tilewright_pch(nvvm HEADERS ${ops_headers} <tilewright/dialect/sm/SmDialect.h>
    <mlir/Dialect/LLVMIR/LLVMDialect.h> <mlir/Dialect/LLVMIR/NVVMDialect.h>)
  foreach(kind ir ops ops_test nvvm)
    target_include_directories(tilewright_pch_${kind} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
    target_include_directories(tilewright_pch_hot_${kind} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  endforeach()
  foreach(kind ops ops_test nvvm hot_ops hot_ops_test hot_nvvm)
    add_dependencies(tilewright_pch_${kind} TilewrightExecIncGen TilewrightSdyIncGen TilewrightSmIncGen TilewrightStablehloIncGen TilewrightTileIncGen)
  endforeach()
endif()
