// What every fuzzer of the executable loader runs on each input.
#ifndef TEST_FUZZ_LOADTARGET_H
#define TEST_FUZZ_LOADTARGET_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace tilewright::fuzz {

/// Reads the bytes as they are, and again with a fingerprint that fits them. An
/// error has an id; an executable has slices inside their buffers, is written
/// and read again as it was, and is loaded without calling its code. One
/// without object code is also run, with kernels and handlers that touch every
/// byte that they are given. Prints what is broken and aborts, as fuzzers want
/// it. Returns how far it came: 0 not readable, 1 readable, 2 loaded, 3 ran.
int checkExecutableBytes(std::span<const std::byte> bytes);

} // namespace tilewright::fuzz

#endif // TEST_FUZZ_LOADTARGET_H
