#include "test/fuzz/BinaryTarget.h"

#include "test/fuzz/PtxTarget.h"
#include "tilewright/vgpu/driver/module/Binary.h"
#include "tilewright/vgpu/machine/LoadedModule.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace tilewright::fuzz {

using namespace vgpu;

static void require(bool holds, const char *what, const std::string &detail = {}) {
  if (holds)
    return;
  std::fprintf(stderr, "the loader broke its word: %s %s\n", what, detail.c_str());
  std::abort();
}

static void requireId(const Status &status) {
  require(status.error().has_value() && status.toString().starts_with("E7"),
          "a failure without an id:", status.message());
}

bool checkBinary(std::string_view image) {
  const std::clock_t start = std::clock();
  bool isLoaded = false;
  for (const char *chip : {"sm_80", "sm_90a"}) {
    Result<std::string> text =
        driver::ptxOf(std::as_bytes(std::span(image)), *machine::findChip(chip));
    if (!text.isOk()) {
      requireId(std::move(text).takeStatus());
      continue;
    }
    Result<std::unique_ptr<machine::LoadedModule>> module =
        machine::LoadedModule::create(*text, chip);
    if (!module.isOk()) {
      requireId(std::move(module).takeStatus());
      continue;
    }
    isLoaded = true;
    for (std::span<std::byte> variable : (*module)->variables())
      if (!variable.empty())
        variable.back() = variable.front(); // the memory must be mapped
  }
  require(std::clock() - start < 10 * CLOCKS_PER_SEC, "loading took over ten seconds");
  return isLoaded;
}

static constexpr uint32_t fatbinMagic = 0xba55ed50;
static constexpr size_t headerBytes = 16, entryBytes = 64;

template <typename T> static void put(std::string &bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

std::string wrapPtx(std::string_view text, bool isPacked) {
  std::string payload;
  if (isPacked) {
    // A single sequence of literals is a valid LZ4 block, too.
    payload += static_cast<char>(text.size() >= 15 ? 0xf0 : text.size() << 4);
    if (text.size() >= 15) {
      size_t rest = text.size() - 15;
      for (; rest >= 255; rest -= 255)
        payload += static_cast<char>(255);
      payload += static_cast<char>(rest);
    }
  }
  payload += text;
  const size_t packedBytes = payload.size();
  payload.resize((payload.size() + 8) / 8 * 8);
  std::string image(headerBytes + entryBytes, '\0');
  put<uint32_t>(image, 0, fatbinMagic);
  put<uint16_t>(image, 4, 1);
  put<uint16_t>(image, 6, headerBytes);
  put<uint64_t>(image, 8, entryBytes + payload.size());
  put<uint16_t>(image, headerBytes, 1);
  put<uint16_t>(image, headerBytes + 2, 0x101);
  put<uint32_t>(image, headerBytes + 4, entryBytes);
  put<uint64_t>(image, headerBytes + 8, payload.size());
  if (isPacked) {
    put<uint32_t>(image, headerBytes + 16, static_cast<uint32_t>(packedBytes));
    put<uint64_t>(image, headerBytes + 40, 0x2000);
    put<uint64_t>(image, headerBytes + 56, text.size());
  }
  return image + payload;
}

std::string mutateBinary(std::string_view image, Random &random) {
  uint32_t magic = 0;
  if (image.size() >= sizeof(magic))
    std::memcpy(&magic, image.data(), sizeof(magic));
  if (magic != fatbinMagic && random.below(4))
    return random.below(4) ? mutatePtx(image, random) : wrapPtx(image, random.below(2));
  std::string changed(image);
  for (uint64_t change = 0, changes = 1 + random.below(3); change < changes; ++change) {
    if (changed.empty())
      return changed;
    // Half of the changes are near the beginning, where the numbers are.
    const size_t reach = random.below(2) ? std::min<size_t>(changed.size(), 160) : changed.size();
    const size_t at = random.below(reach);
    switch (random.below(4)) {
    case 0:
      changed[at] = static_cast<char>(random.below(256));
      break;
    case 1: {
      static constexpr uint64_t numbers[] = {0,          1,          64,         0xffff,
                                             0x7fffffff, 0xffffffff, ~0ull,      1ull << 63,
                                             0x2000,     0x8000,     1ull << 32, 80};
      const uint64_t number = numbers[random.below(std::size(numbers))];
      const size_t width = size_t(1) << random.below(4);
      if (at + width <= changed.size())
        std::memcpy(changed.data() + at, &number, width);
      break;
    }
    case 2:
      changed.resize(at);
      break;
    default:
      changed.insert(at, changed, at / 2, 1 + random.below(32));
    }
  }
  return changed;
}

} // namespace tilewright::fuzz
