// The check that every fuzzer of the executable loader runs on each input.
#ifndef TEST_FUZZ_LOADTARGET_H
#define TEST_FUZZ_LOADTARGET_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace tilewright::fuzz {

/// Reads the bytes as they are, and again with a matching fingerprint. An error must have an id. An
/// executable must have slices inside their buffers, must be the same after writing and reading it,
/// and is loaded without calling its code. An executable without object code is also run, with
/// kernels and handlers that touch every byte they are given. Prints what is broken and aborts, as
/// fuzzers expect. Returns how far it got: 0 not readable, 1 readable, 2 loaded, 3 ran.
int checkExecutableBytes(std::span<const std::byte> bytes);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_LOADTARGET_H
