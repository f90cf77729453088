#include "tilewright/runtime/cpu/matmul/Load.h"

#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

namespace tilewright::runtime::cpu {

using numerics::storageBytes;

static int64_t bytesOf(ElementType type) { return static_cast<int64_t>(storageBytes(type)); }

constexpr int64_t hugePage = int64_t(2) << 20;
/// A thread caches blocks up to this size.
constexpr int64_t largestKept = int64_t(64) << 20;

PanelScratch &PanelScratch::ofThread() {
  static thread_local PanelScratch scratch;
  return scratch;
}

PanelScratch::~PanelScratch() {
  for (std::byte *piece : pieces)
    std::free(piece);
}

std::byte *PanelScratch::get(Use use, int64_t bytes) {
  if (sizes[use] < bytes) {
    std::free(pieces[use]);
    // Align large blocks to huge pages if the system has them: panels span many pages.
    const int64_t page = bytes >= hugePage ? hugePage : 4096;
    sizes[use] = (bytes + bytes / 8 + page - 1) / page * page;
    pieces[use] = static_cast<std::byte *>(
        std::aligned_alloc(static_cast<size_t>(page), static_cast<size_t>(sizes[use])));
    if (!pieces[use])
      std::abort(); // as operator new does without exceptions
#if defined(MADV_HUGEPAGE)
    if (page == hugePage)
      madvise(pieces[use], static_cast<size_t>(sizes[use]), MADV_HUGEPAGE);
#endif
  }
  return pieces[use];
}

void PanelScratch::trim() {
  for (int use = 0; use < useCount; ++use)
    if (sizes[use] > largestKept) {
      std::free(pieces[use]);
      pieces[use] = nullptr;
      sizes[use] = 0;
    }
}

/// Copies elements that are not contiguous.
template <typename T>
static void gatherAs(const std::byte *from, const Placement &placement, int64_t first,
                     int64_t count, std::byte *to) {
  const T *values = reinterpret_cast<const T *>(from);
  T *out = reinterpret_cast<T *>(to);
  if (placement.isEven())
    for (int64_t i = 0; i < count; ++i)
      out[i] = values[(first + i) * placement.stride];
  else
    for (int64_t i = 0; i < count; ++i)
      out[i] = values[placement.offsets[static_cast<size_t>(first + i)]];
}

namespace {
struct Wide {
  uint64_t parts[2];
};
} // namespace

static void gather(ElementType type, const std::byte *from, const Placement &placement,
                   int64_t first, int64_t count, std::byte *to) {
  switch (storageBytes(type)) {
  case 1:
    return gatherAs<uint8_t>(from, placement, first, count, to);
  case 2:
    return gatherAs<uint16_t>(from, placement, first, count, to);
  case 4:
    return gatherAs<uint32_t>(from, placement, first, count, to);
  case 8:
    return gatherAs<uint64_t>(from, placement, first, count, to);
  default:
    return gatherAs<Wide>(from, placement, first, count, to);
  }
}

LoadedBlock loadBlock(const OperandView &view, const Conversion &conversion, int64_t line,
                      int64_t lines, int64_t k, int64_t count) {
  const int64_t fromBytes = bytesOf(conversion.from()), toBytes = bytesOf(conversion.to());
  PanelScratch &scratch = PanelScratch::ofThread();
  if (view.prologue) {
    const bool isSummedMajor = view.prologue->isSummedMajor;
    const int64_t stride = isSummedMajor ? lines : count;
    std::byte *raw = scratch.get(PanelScratch::raw, lines * count * fromBytes);
    view.prologue->make(view.prologue->buffers, view.firstLine + line,
                        view.firstLine + line + lines, k, k + count, raw, stride);
    if (!conversion.isIdentity()) {
      std::byte *out = scratch.get(PanelScratch::converted, lines * count * toBytes);
      conversion.run(raw, out, lines * count);
      raw = out;
    }
    return isSummedMajor ? LoadedBlock{raw, 1, lines} : LoadedBlock{raw, count, 1};
  }

  const Placement &acrossLines = *view.lines, &acrossSummed = *view.summed;
  if (conversion.isIdentity() && acrossLines.isEven() && acrossSummed.isEven())
    return {view.data + (line * acrossLines.stride + k * acrossSummed.stride) * fromBytes,
            acrossLines.stride, acrossSummed.stride};

  // Loop over the side whose elements are contiguous in memory.
  const bool isSummedMajor = acrossLines.isEven() && acrossLines.stride == 1 &&
                             !(acrossSummed.isEven() && acrossSummed.stride == 1);
  const Placement &inner = isSummedMajor ? acrossLines : acrossSummed;
  const Placement &outer = isSummedMajor ? acrossSummed : acrossLines;
  const int64_t innerFirst = isSummedMajor ? line : k, innerCount = isSummedMajor ? lines : count;
  const int64_t outerFirst = isSummedMajor ? k : line, outerCount = isSummedMajor ? count : lines;
  const bool isContiguous = inner.isEven() && inner.stride == 1;
  std::byte *out = scratch.get(PanelScratch::converted, lines * count * toBytes);
  std::byte *raw = scratch.get(PanelScratch::raw, innerCount * fromBytes);
  for (int64_t i = 0; i < outerCount; ++i) {
    const std::byte *from = view.data + outer.at(outerFirst + i) * fromBytes;
    std::byte *to = out + i * innerCount * toBytes;
    if (isContiguous) {
      conversion.run(from + innerFirst * fromBytes, to, innerCount);
    } else if (conversion.isIdentity()) {
      gather(conversion.from(), from, inner, innerFirst, innerCount, to);
    } else {
      gather(conversion.from(), from, inner, innerFirst, innerCount, raw);
      conversion.run(raw, to, innerCount);
    }
  }
  return isSummedMajor ? LoadedBlock{out, 1, lines} : LoadedBlock{out, count, 1};
}

void storeSums(const Conversion &conversion, const std::byte *sums, int64_t stride, int64_t row,
               int64_t rows, int64_t column, int64_t columns, std::byte *result,
               const Placement &resultRows, const Placement &resultColumns) {
  const int64_t fromBytes = bytesOf(conversion.from()), toBytes = bytesOf(conversion.to());
  const bool isContiguous = resultColumns.isEven() && resultColumns.stride == 1;
  std::byte *line = isContiguous
                        ? nullptr
                        : PanelScratch::ofThread().get(PanelScratch::converted, columns * toBytes);
  for (int64_t i = 0; i < rows; ++i) {
    const std::byte *from = sums + i * stride * fromBytes;
    std::byte *to = result + resultRows.at(row + i) * toBytes;
    if (isContiguous) {
      conversion.run(from, to + column * toBytes, columns);
      continue;
    }
    conversion.run(from, line, columns);
    for (int64_t j = 0; j < columns; ++j)
      std::memcpy(to + resultColumns.at(column + j) * toBytes, line + j * toBytes,
                  static_cast<size_t>(toBytes));
  }
}

} // namespace tilewright::runtime::cpu
