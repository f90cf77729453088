#include "tilewright/vgpu/driver/observe/ObserveRecord.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/observe/Files.h"
#include "tilewright/vgpu/machine/memory/Allocations.h"
#include "tilewright/vgpu/ptx/Printer.h"

#include <cstring>
#include <filesystem>
#include <map>

namespace tilewright::vgpu::driver {

namespace {
/// A copy of the memory that a launch can access, relocated to a fixed address.
class Image {
public:
  /// The address that replaces `address`; 0 if it is not in an allocation.
  uint64_t moved(uint64_t address) {
    const machine::Allocation *found = table->find(address);
    if (!found || found->kind == machine::AllocationKind::variable)
      return 0;
    auto [place, isNew] = places.try_emplace(found->begin, bytes.size());
    if (isNew) {
      const auto *first = reinterpret_cast<const char *>(found->begin);
      bytes.append(first, found->bytes());
      // Padding whose bytes are neither zeros nor small numbers, so that a write to it is noticed.
      bytes.resize((bytes.size() + 2 * alignment - 1) / alignment * alignment, '\xa5');
    }
    return base + place->second + (address - found->begin);
  }
  const std::string &content() const { return bytes; }

  static constexpr uint64_t base = 0x2000'0000'0000;

private:
  static constexpr size_t alignment = 1024; // of shared memory in swizzled layouts, and of tensors
  std::shared_ptr<const machine::AllocationTable> table = machine::allocations().snapshot();
  std::map<uint64_t, uint64_t> places; // offset in `bytes`, by the allocation's begin
  std::string bytes;
};
} // namespace

/// The bytes of a parameter as text, with its pointers relocated to the image.
static std::string recorded(std::span<const std::byte> parameter, Image &image) {
  std::vector<std::byte> bytes(parameter.begin(), parameter.end());
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    if (const uint64_t address = image.moved(word))
      std::memcpy(bytes.data() + at, &address, 8);
  }
  std::string hex;
  for (const std::byte one : bytes)
    for (const unsigned digit :
         {std::to_integer<unsigned>(one) >> 4, std::to_integer<unsigned>(one) & 15})
      hex += "0123456789abcdef"[digit];
  return hex;
}

std::unique_ptr<Observation> startRecording(const LaunchFacts &facts) {
  if (facts.counts.empty())
    return nullptr;
  const machine::LaunchConfig &config = facts.config;
  std::string launch = concat("kernel ", facts.kernel, "\nchip ", facts.module.chip().name, "\n");
  auto three = [&](std::string_view what, const std::array<uint32_t, 3> &sizes) {
    launch += concat(what, " ", sizes[0], " ", sizes[1], " ", sizes[2], "\n");
  };
  three("grid", config.grid);
  three("block", config.block);
  three("cluster", config.cluster);
  launch += concat("shared ", config.dynamicSharedBytes, "\ncooperative ",
                   config.cooperative ? 1 : 0, "\nchecks all\nmemory ", Image::base, "\n");
  Image image;
  for (const std::span<const std::byte> parameter : facts.parameters)
    launch += concat("parameter ", recorded(parameter, image), "\n");
  const std::filesystem::path stem = makeStem(facts);
  writeFile(stem.string() + ".ptx", ptx::print(facts.module.source()));
  writeFile(stem.string() + ".memory", image.content());
  writeFile(stem.string() + ".launch", launch);
  return nullptr;
}

} // namespace tilewright::vgpu::driver
