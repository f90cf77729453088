# Compiler, linker and LLVM: everything that is chosen once for the whole build.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# Dev keeps asserts and compiles fast. Libraries that loop over elements ask for
# HOT in tilewright_library and are optimised even here, because their tests
# visit every value of a format.
set(CMAKE_C_FLAGS_DEV "-O0 -gline-tables-only" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_DEV "-O0 -gline-tables-only" CACHE STRING "" FORCE)
set(CMAKE_EXE_LINKER_FLAGS_DEV "" CACHE STRING "" FORCE)
set(CMAKE_SHARED_LINKER_FLAGS_DEV "" CACHE STRING "" FORCE)
mark_as_advanced(CMAKE_C_FLAGS_DEV CMAKE_CXX_FLAGS_DEV CMAKE_EXE_LINKER_FLAGS_DEV
  CMAKE_SHARED_LINKER_FLAGS_DEV)

# Floating point means what the source says: no contraction into fma, which
# would change the last bit from machine to machine.
add_compile_options(-fno-exceptions -ffp-contract=off -Wall -Wextra -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Lets ccache reuse objects that were built against the same PCH.
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()

find_program(TILEWRIGHT_LLD NAMES ld.lld-22 ld.lld)
if(TILEWRIGHT_LLD)
  add_link_options(--ld-path=${TILEWRIGHT_LLD})
endif()

# A hash of each program and library, by which caches tell builds apart (tilewright/support/BuildId.h).
add_link_options(-Wl,--build-id=sha1)

find_program(TILEWRIGHT_CCACHE ccache)
if(TILEWRIGHT_CCACHE)
  foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_LAUNCHER
      ${CMAKE_SOURCE_DIR}/cmake/compile ${CMAKE_SOURCE_DIR} ${TILEWRIGHT_CCACHE})
  endforeach()
endif()

if(TILEWRIGHT_SANITIZE)
  add_compile_options(-fsanitize=${TILEWRIGHT_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TILEWRIGHT_SANITIZE})
endif()

if(TILEWRIGHT_FUZZ)
  # Coverage of every library, so that a fuzzer sees what an input reached.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

include_directories(${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})

if(TILEWRIGHT_LLVM)
  if(NOT MLIR_DIR)
    find_program(TILEWRIGHT_LLVM_CONFIG NAMES llvm-config-22 llvm-config)
    if(NOT TILEWRIGHT_LLVM_CONFIG)
      message(FATAL_ERROR "llvm-config-22 is not on PATH: run tools/setup, or pass -DMLIR_DIR=…")
    endif()
    execute_process(COMMAND ${TILEWRIGHT_LLVM_CONFIG} --cmakedir
      OUTPUT_VARIABLE llvm_cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    set(MLIR_DIR "${llvm_cmake_dir}/../mlir" CACHE PATH "where MLIRConfig.cmake is")
  endif()
  find_package(MLIR REQUIRED CONFIG)
  # LLVM's archives ask for the shared zlib and zstd; what ships holds them, because not every system has zstd.
  if(TILEWRIGHT_PORTABLE)
    find_library(TILEWRIGHT_ZLIB_ARCHIVE libz.a REQUIRED)
    find_library(TILEWRIGHT_ZSTD_ARCHIVE libzstd.a REQUIRED)
    set_target_properties(ZLIB::ZLIB PROPERTIES IMPORTED_LOCATION ${TILEWRIGHT_ZLIB_ARCHIVE}
      IMPORTED_LOCATION_RELEASE ${TILEWRIGHT_ZLIB_ARCHIVE})
    set_target_properties(zstd::libzstd_shared PROPERTIES IMPORTED_LOCATION ${TILEWRIGHT_ZSTD_ARCHIVE})
  endif()
  if(NOT LLVM_VERSION_MAJOR EQUAL 22)
    message(FATAL_ERROR "tilewright builds against LLVM 22, found ${LLVM_VERSION} in ${LLVM_DIR}")
  endif()
  list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
  include(TableGen)
  include(AddLLVM)
  include(AddMLIR)

  if(NOT TILEWRIGHT_LINK_MLIR_DYLIB)
    # Debian builds LLVM with LLVM_LINK_LLVM_DYLIB, so its MLIR archives say that
    # they need libLLVM.so. Send them to the archives instead; the linker takes the
    # members that are used and drops the shared libraries that are not.
    add_library(tilewright_llvm_archives INTERFACE)
    target_link_libraries(tilewright_llvm_archives INTERFACE
      LLVMCore LLVMSupport LLVMTargetParser LLVMBinaryFormat LLVMRemarks LLVMDemangle)
    get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
    list(FILTER imported INCLUDE REGEX "^MLIR.+")
    foreach(archive IN LISTS imported)
      get_target_property(needs ${archive} INTERFACE_LINK_LIBRARIES)
      if(needs)
        list(TRANSFORM needs REPLACE "^LLVM$" tilewright_llvm_archives)
        set_target_properties(${archive} PROPERTIES INTERFACE_LINK_LIBRARIES "${needs}")
      endif()
    endforeach()
    add_link_options(-Wl,--as-needed)
  endif()
endif()
