// AMD's code objects: ELF files with machine code, kernel descriptors and metadata, and the bundles
// that contain several of them.
#ifndef TILEWRIGHT_VGPU_AMDGCN_CODEOBJECT_H
#define TILEWRIGHT_VGPU_AMDGCN_CODEOBJECT_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/amdgcn/Table.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::vgpu::amdgcn {

/// A section of the file. `bytes` is empty for a section that has none in the file (.bss).
struct Section {
  std::string_view name;
  uint64_t address = 0, size = 0;
  std::span<const std::byte> bytes;
  bool isExecutable = false;
};

/// A part of the file that is loaded into memory, at an offset from the load address.
struct Segment {
  uint64_t address = 0, memoryBytes = 0;
  std::span<const std::byte> bytes;
  bool isExecutable = false, isWritable = false;
};

struct Symbol {
  std::string_view name;
  uint64_t address = 0, size = 0;
  uint32_t section = 0; // an index into CodeObject::sections; 0 if it is not in one
  bool isFunction = false;
  bool isLabel = false; // without a type, as assemblers write them
};

/// The 64 bytes of `NAME.kd`, which tell the hardware how to start a kernel.
struct KernelDescriptor {
  uint32_t ldsBytes = 0, scratchBytesPerLane = 0, kernelArgumentBytes = 0;
  int64_t entryOffset = 0; // from the descriptor
  uint32_t rsrc3 = 0, rsrc1 = 0, rsrc2 = 0;
  uint16_t properties = 0, preload = 0;

  unsigned vgprs() const { return ((rsrc1 & 63) + 1) * 8; } // AGPRs included
  unsigned firstAgpr() const { return ((rsrc3 & 63) + 1) * 4; }
  unsigned userSgprs() const { return rsrc2 >> 1 & 31; }
  bool usesScratch() const { return (rsrc2 & 1) != 0; }
  bool hasGroupId(unsigned dimension) const { return (rsrc2 >> (7 + dimension) & 1) != 0; }
  bool hasDispatchPointer() const { return (properties >> 1 & 1) != 0; }
  bool hasQueuePointer() const { return (properties >> 2 & 1) != 0; }
  bool hasArgumentPointer() const { return (properties >> 3 & 1) != 0; }
  bool hasDispatchId() const { return (properties >> 4 & 1) != 0; }
  unsigned preloadedDwords() const { return preload & 127; }
  unsigned preloadOffset() const { return preload >> 7; } // in dwords
};

struct KernelArgument {
  std::string_view name, valueKind; // by_value, global_buffer, hidden_block_count_x, …
  uint64_t offset = 0, size = 0;
};

struct Kernel {
  std::string_view name;
  uint64_t descriptorAddress = 0, entry = 0;
  KernelDescriptor descriptor;
  // From the metadata.
  std::vector<KernelArgument> arguments;
  uint32_t vgprs = 0, agprs = 0, sgprs = 0, vgprSpills = 0, sgprSpills = 0;
  uint32_t waveSize = 64, maxWorkgroupSize = 0;
};

/// A code object that was read. All strings and bytes are views into the file, which must outlive
/// it.
struct CodeObject {
  Chip chip = Chip::gfx942;
  std::vector<Section> sections; // by index of the file; the first one is empty
  std::vector<Segment> segments;
  std::vector<Symbol> symbols; // by address
  std::vector<Kernel> kernels; // by address; empty for an object that was not linked

  const Kernel *find(std::string_view kernel) const;
};

/// Reads a code object for gfx942 or gfx950.
///  - vgpuBinary: the bytes are not a code object, or are damaged.
///  - vgpuChip: it is for another chip.
Result<CodeObject> readCodeObject(std::span<const std::byte> bytes);

/// The bytes of a code object or a bundle in memory, whose own header gives the size, for callers
/// that get only a pointer.
///  - vgpuBinary: the bytes are neither, or the header does not contain the size.
Result<std::span<const std::byte>> imageAt(const void *image);

/// A code object in a file.
struct FoundCode {
  std::span<const std::byte> bytes;            // in the file or in `unpacked`
  std::shared_ptr<const std::string> unpacked; // of a compressed bundle, else null
};

/// The code object for a chip in `bytes`: the bytes themselves if they are an ELF file, or an entry
/// of a bundle that clang made for HIP. Without a chip, the first entry for a chip that we know.
///  - vgpuBinary: a damaged bundle, or one that is compressed with zlib.
///  - vgpuChip: the bundle has entries for other chips only; the message lists them.
Result<FoundCode> findCodeObject(std::span<const std::byte> bytes,
                                 std::optional<Chip> chip = std::nullopt);

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_CODEOBJECT_H
