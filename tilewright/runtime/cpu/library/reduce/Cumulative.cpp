#include "tilewright/runtime/cpu/library/reduce/Cumulative.h"

#include "tilewright/runtime/cpu/library/Scratch.h"

#include <algorithm>
#include <cstring>

namespace tilewright::runtime::cpu {

/// The number of elements per chunk of a long row. Chunks do not depend on the number of threads,
/// so neither do results.
constexpr int64_t chunk = 1 << 15;

/// Scans along contiguous elements.
static void cumulateRows(const RowArithmetic &rows, const CumulativeGeometry &geometry,
                         const std::byte *from, const std::byte *start, std::byte *to,
                         ThreadPool &pool) {
  const int64_t size = geometry.size, chunks = (size + chunk - 1) / chunk;
  auto scanChunk = [&](int64_t row, int64_t number, std::byte *target, const std::byte *carry,
                       std::byte *total) {
    // Chunk 0 is the first that is scanned: the last of the row if reversed.
    const int64_t begin = number * chunk, count = std::min(chunk, size - begin);
    const int64_t at = row * size + (geometry.reversed ? size - begin - count : begin);
    rows.scan(from + at * rows.storedBytes, target ? target + at * rows.storedBytes : nullptr,
              count, geometry.reversed, carry, total);
  };
  if (chunks == 1 || geometry.outer >= 4 * int64_t(pool.threadCount()) || pool.threadCount() == 1) {
    const int64_t grain = std::max<int64_t>(1, (1 << 14) / size);
    pool.parallelFor(geometry.outer, grain, [&](int64_t begin, int64_t end) {
      alignas(16) std::byte carry[16], total[16];
      for (int64_t row = begin; row < end; ++row) {
        std::memcpy(carry, start, static_cast<size_t>(rows.valueBytes));
        for (int64_t i = 0; i < chunks; ++i) {
          scanChunk(row, i, to, carry, total);
          rows.combineValues(carry, total, 1);
        }
      }
    });
    return;
  }
  // Few long rows: first compute the total of each chunk, then scan every chunk with the
  // combination of those before it.
  const int64_t bytes = rows.valueBytes;
  const Scratch carries(geometry.outer * chunks * bytes);
  pool.parallelFor(geometry.outer * chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      scanChunk(i / chunks, i % chunks, nullptr, start, carries.data() + i * bytes);
  });
  for (int64_t row = 0; row < geometry.outer; ++row) {
    alignas(16) std::byte carry[16], total[16];
    std::memcpy(carry, start, static_cast<size_t>(bytes));
    for (int64_t i = 0; i < chunks; ++i) {
      std::byte *place = carries.data() + (row * chunks + i) * bytes;
      std::memcpy(total, place, static_cast<size_t>(bytes));
      std::memcpy(place, carry, static_cast<size_t>(bytes));
      rows.combineValues(carry, total, 1);
    }
  }
  pool.parallelFor(geometry.outer * chunks, 1, [&](int64_t begin, int64_t end) {
    alignas(16) std::byte total[16];
    for (int64_t i = begin; i < end; ++i)
      scanChunk(i / chunks, i % chunks, to, carries.data() + i * bytes, total);
  });
}

void cumulate(const RowArithmetic &rows, const CumulativeGeometry &geometry, const std::byte *from,
              const std::byte *init, std::byte *to, ThreadPool &pool) {
  if (geometry.outer * geometry.size * geometry.inner == 0)
    return;
  alignas(16) std::byte start[16];
  if (init)
    rows.widen(init, start, 1);
  else
    rows.identity(start);
  if (geometry.inner == 1)
    return cumulateRows(rows, geometry, from, start, to, pool);

  constexpr int64_t most = 512; // columns whose state stays in L1
  const int64_t width = std::min(most, geometry.inner);
  const int64_t blocks = (geometry.inner + width - 1) / width;
  const int64_t grain = std::max<int64_t>(1, (1 << 14) / (geometry.size * width));
  pool.parallelFor(geometry.outer * blocks, grain, [&](int64_t begin, int64_t end) {
    const Scratch running(width * rows.valueBytes);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task % blocks * width;
      const int64_t columns = std::min(width, geometry.inner - first);
      for (int64_t i = 0; i < columns; ++i)
        std::memcpy(running.data() + i * rows.valueBytes, start,
                    static_cast<size_t>(rows.valueBytes));
      for (int64_t i = 0; i < geometry.size; ++i) {
        const int64_t place = geometry.reversed ? geometry.size - 1 - i : i;
        const int64_t at =
            ((task / blocks * geometry.size + place) * geometry.inner + first) * rows.storedBytes;
        rows.combine(running.data(), from + at, columns);
        rows.narrow(running.data(), to + at, columns);
        if (geometry.size <= maxRoundedSteps && rows.storedBytes != rows.valueBytes)
          rows.widen(to + at, running.data(), columns);
      }
    }
  });
}

namespace {
class CumulativeKernel final : public LibraryKernel {
public:
  CumulativeKernel(CumulativeGeometry geometry, std::unique_ptr<RowArithmetic> rows)
      : geometry(geometry), rows(std::move(rows)) {}
  Status run(const LibraryRun &run) const override {
    cumulate(*rows, geometry, run.operands[0], nullptr, run.results[0], run.pool);
    return Status();
  }

private:
  CumulativeGeometry geometry;
  std::unique_ptr<RowArithmetic> rows;
};
} // namespace

/// The compiler may emit this for a scan that it recognises.
KernelResult prepareCumulative(const artifact::CumulativeCall &call,
                               const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(1, 1));
  TILEWRIGHT_ASSIGN(Shape shape, reader.operandShape(0));
  const int64_t dimension = call.dimension;
  TILEWRIGHT_TRY(reader.checkDims("dimension", Dims{dimension}, shape.rank()));
  const ElementType type = types.operands[0].element;
  TILEWRIGHT_TRY(reader.expectResult(0, type, shape.dims()));
  std::unique_ptr<RowArithmetic> rows = RowArithmetic::create(call.body, type);
  if (!rows)
    return reader.failure("'", nameOf(call.body), "' is not defined for ",
                          numerics::spelling(type));
  const int64_t inner = shape.strides()[static_cast<size_t>(dimension)], size = shape[dimension];
  const int64_t outer = shape.elementCount() == 0 ? 0 : shape.elementCount() / (size * inner);
  return makeKernel<CumulativeKernel>(CumulativeGeometry{outer, size, inner, call.reverse},
                                      std::move(rows));
}

} // namespace tilewright::runtime::cpu
