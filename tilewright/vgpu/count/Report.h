// The counts of a launch: in total and by source line.
#ifndef TILEWRIGHT_VGPU_COUNT_REPORT_H
#define TILEWRIGHT_VGPU_COUNT_REPORT_H

#include "tilewright/vgpu/ptx/InstructionTable.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tilewright::vgpu::count {

inline constexpr size_t classCount = static_cast<size_t>(ptx::InstructionClass::control) + 1;

/// Memory accesses and waits of instructions. Bytes are those that lanes requested; the memory
/// system moves sectors of 32 bytes.
struct MemoryCounts {
  uint64_t globalRequests = 0, globalReadBytes = 0, globalWriteBytes = 0, globalAtomicBytes = 0;
  uint64_t globalSectors = 0, globalIdealSectors = 0;
  uint64_t localBytes = 0;
  uint64_t sharedRequests = 0, sharedReadBytes = 0, sharedWriteBytes = 0, sharedAtomicBytes = 0;
  uint64_t sharedWavefronts = 0, sharedIdealWavefronts = 0;
  uint64_t remoteBytes = 0;                           // in the shared memory of other blocks
  uint64_t tensorReadBytes = 0, tensorWriteBytes = 0; // of tensor memory
  // Bulk and tensor copies, and the operands of wgmma instructions.
  uint64_t asyncGlobalBytes = 0, asyncGlobalSectors = 0, asyncSharedBytes = 0;
  // How often a warp continued after a barrier, an mbarrier, a cluster barrier, or a wait for an
  // asynchronous group.
  uint64_t barrierWaits = 0, mbarrierWaits = 0, clusterWaits = 0, groupWaits = 0;

  void add(const MemoryCounts &other);
  /// Wavefronts that a layout without bank conflicts would save.
  uint64_t bankConflicts() const { return sharedWavefronts - sharedIdealWavefronts; }
  uint64_t waits() const { return barrierWaits + mbarrierWaits + clusterWaits + groupWaits; }
};

struct Counts {
  uint64_t warpInstructions = 0, threadInstructions = 0;
  std::array<uint64_t, classCount> byClass{}; // warp instructions
  MemoryCounts memory;
  std::map<std::string, uint64_t> multiplyAdds; // by type: "f16*f16+f32"

  void add(const Counts &other);
};

/// A line of a source file, or of the PTX text if the PTX names no source.
struct LineCounts {
  std::string file; // empty: the PTX text
  uint32_t line = 0;
  Counts counts;
};

struct Report {
  std::string kernel, chip;
  std::array<uint32_t, 3> grid{}, block{}, cluster{};
  Counts total;
  std::vector<LineCounts> lines; // sorted by file and line
  /// The peak number of bytes in asynchronous copies that one group of resident blocks had issued
  /// but not yet waited for.
  uint64_t maxBytesInFlight = 0;

  /// A summary, and the counts of each source line, with the text of the line if the file can be
  /// read.
  std::string toText() const;
  std::string toJson() const;
};

} // namespace tilewright::vgpu::count

#endif // TILEWRIGHT_VGPU_COUNT_REPORT_H
