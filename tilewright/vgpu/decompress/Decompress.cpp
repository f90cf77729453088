#include "tilewright/vgpu/decompress/Decompress.h"

#include "tilewright/support/Concat.h"

#include <cstdint>
#include <dlfcn.h>

namespace tilewright::vgpu::decompress {

static Status damaged(std::string message) { return Status(Error::vgpuBinary, std::move(message)); }

// An LZ4 block is a list of sequences. A sequence has a token byte with two 4-bit lengths,
// extension bytes of the first length if it is 15, that number of literal bytes, a two-byte
// distance, and extension bytes of the second length if it is 15. The match is the second length +
// 4 bytes, copied from that distance back. The last sequence ends after its literals.
Result<std::string> unpackLz4(std::span<const std::byte> packed, size_t bytes) {
  std::string out;
  out.reserve(bytes);
  size_t at = 0;
  auto next = [&](uint8_t &value) {
    if (at == packed.size())
      return false;
    value = static_cast<uint8_t>(packed[at++]);
    return true;
  };
  auto extend = [&](size_t &length) {
    uint8_t more = 255;
    while (length >= 15 && more == 255) {
      if (!next(more))
        return false;
      length += more;
    }
    return true;
  };
  while (at < packed.size()) {
    uint8_t token = 0;
    next(token);
    size_t literals = token >> 4;
    if (!extend(literals) || literals > packed.size() - at || literals > bytes - out.size())
      return damaged(concat("the LZ4 block is damaged at byte ", at, " of ", packed.size()));
    out.append(reinterpret_cast<const char *>(packed.data()) + at, literals);
    at += literals;
    if (at == packed.size())
      break;
    uint8_t low = 0, high = 0;
    size_t length = token & 15;
    const bool hasAll = next(low) && next(high) && extend(length);
    const size_t distance = low | size_t(high) << 8;
    length += 4;
    if (!hasAll || distance == 0 || distance > out.size() || length > bytes - out.size())
      return damaged(concat("the LZ4 block is damaged at byte ", at, " of ", packed.size()));
    for (; length > 0; --length)
      out.push_back(out[out.size() - distance]); // a match may overlap its own output
  }
  if (out.size() != bytes)
    return damaged(concat("the LZ4 block unpacks to ", out.size(), " bytes, expected ", bytes));
  return out;
}

Result<std::string> unpackZstd(std::span<const std::byte> packed, size_t bytes) {
  // Loaded on first use, so that the driver does not depend on libzstd.
  using Decompress = size_t (*)(void *, size_t, const void *, size_t);
  static const auto decompress = [] {
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    return library ? reinterpret_cast<Decompress>(dlsym(library, "ZSTD_decompress")) : nullptr;
  }();
  if (!decompress)
    return damaged(
        "the code is compressed with Zstandard, which needs libzstd.so.1; install it, or "
        "compile without compression (nvcc --compress-mode=none, clang "
        "--no-offload-compress)");
  std::string out(bytes, '\0');
  // ZSTD_decompress returns errors as sizes near SIZE_MAX.
  const size_t size = decompress(out.data(), out.size(), packed.data(), packed.size());
  if (size != bytes)
    return damaged(concat("the Zstandard frame of ", packed.size(),
                          " bytes does not unpack to the expected ", bytes, " bytes"));
  return out;
}

} // namespace tilewright::vgpu::decompress
