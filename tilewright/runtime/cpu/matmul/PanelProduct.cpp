// Large products: packs operands into panels and computes sums in tiles that fit in L2, each from
// blocks of panels that fit in L1.
#include "tilewright/runtime/cpu/matmul/Runner.h"

#include <algorithm>

namespace tilewright::runtime::cpu {

namespace {

int64_t divideUp(int64_t value, int64_t by) { return (value + by - 1) / by; }
int64_t roundUp(int64_t value, int64_t to) { return divideUp(value, to) * to; }

/// How a product is divided into tiles and blocks.
struct Blocking {
  int64_t rows, columns; // of a tile of sums; multiples of the kernel's
  int64_t summed;        // of a block of panels; a multiple of the kernel's depth
  int64_t rowTiles, columnTiles, summedBlocks;
};

/// How one operand is packed for the kernel.
struct PackedOperand {
  const OperandView &view;
  const Conversion &conversion;
  PackPanel pack;
  int64_t width, depth; // of a panel
  int64_t lines, summed, blockSummed;
  int64_t elementBytes;
  PanelScratch::Use localUse;
  std::byte *shared = nullptr; // panels for several tiles; null if each tile packs its own
  int64_t sharedFirst = 0, sharedCount = 0; // the range of those panels

  int64_t panels() const { return divideUp(lines, width); }
  int64_t blockDepth(int64_t block) const {
    return roundUp(std::min(blockSummed, summed - block * blockSummed), depth);
  }
  int64_t panelBytes(int64_t block) const { return width * blockDepth(block) * elementBytes; }
  /// The size in bytes of the panels of `count` lines, for all blocks.
  int64_t bytesOf(int64_t count) const {
    return roundUp(count, width) * roundUp(summed, depth) * elementBytes;
  }
  std::byte *sharedAt(int64_t block, int64_t panel) const {
    return shared + sharedCount * width * block * blockSummed * elementBytes +
           (panel - sharedFirst) * panelBytes(block);
  }
  /// Sets the lines [begin, end) whose panels are in `shared`.
  void shareLines(int64_t begin, int64_t end) {
    sharedFirst = begin / width;
    sharedCount = divideUp(std::min(end, lines), width) - sharedFirst;
  }

  /// Whether adjacent lines are adjacent in memory.
  bool isAcross() const {
    return view.prologue ? view.prologue->isSummedMajor
                         : view.lines->isEven() && view.lines->stride == 1;
  }

  /// Packs panels [first, last) of a block. If adjacent lines are adjacent in memory, processes a
  /// few summed elements of several panels at a time, to read longer parts of each row of the
  /// operand before it goes to the next page.
  void packPanels(int64_t block, int64_t first, int64_t last, std::byte *to) const {
    constexpr int64_t panelsAtOnce = 8, summedAtOnce = 32;
    const int64_t k = block * blockSummed, count = std::min(blockSummed, summed - k);
    const int64_t step = isAcross() ? roundUp(std::min(count, summedAtOnce), depth) : count;
    const int64_t together = isAcross() ? panelsAtOnce : 1;
    for (int64_t group = first; group < last; group += together)
      for (int64_t done = 0; done < count; done += step) {
        const int64_t line = group * width, now = std::min(step, count - done);
        const int64_t groupLines = std::min(together * width, lines - line);
        const int64_t groupEnd = std::min(group + together, last);
        const LoadedBlock loaded =
            loadBlock(view, conversion, line, std::min(groupLines, (groupEnd - group) * width),
                      k + done, now);
        for (int64_t panel = group; panel < groupEnd; ++panel) {
          const int64_t inGroup = (panel - group) * width;
          pack(loaded.data + inGroup * loaded.lineStride * elementBytes, loaded.lineStride,
               loaded.summedStride, std::min(width, groupLines - inGroup), now,
               to + (panel - first) * panelBytes(block) + done * width * elementBytes);
        }
      }
  }
  /// Panels [first, last) of a block: shared ones if there are any, otherwise packed by the calling
  /// thread.
  const std::byte *block(int64_t block, int64_t first, int64_t last) const {
    if (shared)
      return sharedAt(block, first);
    std::byte *local = PanelScratch::ofThread().get(localUse, (last - first) * panelBytes(block));
    packPanels(block, first, last, local);
    return local;
  }
};

} // namespace

/// The number of multiplications per tile from which waking another thread pays off.
constexpr int64_t worthATile = 400'000;
/// Up to this many tiles of a row each pack lhs.
constexpr int64_t repackedTiles = 2;
/// Tiles per thread; several, so that a preempted thread does not delay all others.
constexpr int64_t tilesPerThread = 4;

static Blocking chooseBlocking(const PanelKernel &kernel, const MatmulProblem &shape,
                               const CpuFeatures &features, const Matmul::Choice &choice,
                               int64_t threads) {
  const auto bytes = static_cast<int64_t>(numerics::storageBytes(kernel.lhsPacked));
  Blocking blocking;
  // A panel of lhs should stay in L1. Tile registers load panels of rhs past L1, so that they do
  // not evict it.
  const int64_t panelBytes = features.level1Bytes * 2 / 3;
  const int64_t maxSummed =
      std::max(kernel.depth, panelBytes / (kernel.rows * bytes) / kernel.depth * kernel.depth);
  blocking.summedBlocks = divideUp(shape.summed, maxSummed);
  blocking.summed = roundUp(divideUp(shape.summed, blocking.summedBlocks), kernel.depth);
  blocking.summedBlocks = divideUp(shape.summed, blocking.summed);

  // Blocks of lhs and rhs and the tile share L2.
  const int64_t maxRows = choice.maxRows ? choice.maxRows : kernel.enter ? 1024 : 256;
  // With tile registers, the block of rhs stays in L2 while blocks of lhs come from memory or L3.
  const int64_t wide = std::clamp<int64_t>(features.level2Bytes / 2 / (blocking.summed * bytes) /
                                               kernel.columns * kernel.columns,
                                           256, 1024);
  const int64_t maxColumns = choice.maxColumns ? choice.maxColumns : kernel.enter ? wide : 256;
  blocking.rowTiles = divideUp(shape.rows, maxRows);
  blocking.columnTiles = divideUp(shape.columns, maxColumns);
  const double work = double(shape.rows) * double(shape.columns) * double(shape.summed);
  const auto worth = static_cast<int64_t>(std::clamp(work / worthATile, 1.0, 1e9));
  const int64_t wanted = threads == 1 ? 1 : std::min(threads * tilesPerThread, worth);
  auto tileRows = [&] { return divideUp(shape.rows, blocking.rowTiles); };
  auto tileColumns = [&] { return divideUp(shape.columns, blocking.columnTiles); };
  while (blocking.rowTiles * blocking.columnTiles < wanted) {
    const bool canSplitRows = tileRows() >= 2 * kernel.rows;
    const bool canSplitColumns = tileColumns() >= 2 * kernel.columns;
    if (canSplitRows && (tileRows() >= tileColumns() || !canSplitColumns))
      ++blocking.rowTiles;
    else if (canSplitColumns)
      ++blocking.columnTiles;
    else
      break;
  }
  blocking.rows = roundUp(tileRows(), kernel.rows);
  blocking.columns = roundUp(tileColumns(), kernel.columns);
  blocking.rowTiles = divideUp(shape.rows, blocking.rows);
  blocking.columnTiles = divideUp(shape.columns, blocking.columns);
  return blocking;
}

/// If there are few tiles and long sums, the sums are split over the threads. Tile registers
/// multiply a block so fast that a part needs more of them.
static int64_t summedPartsOf(const PanelKernel &kernel, const Blocking &blocking, int64_t threads) {
  const int64_t leastBlocks = kernel.enter ? 4 : 2;
  return std::max<int64_t>(1, std::min(threads / (blocking.rowTiles * blocking.columnTiles),
                                       blocking.summedBlocks / leastBlocks));
}

int64_t Matmul::summedParts(int64_t threads) const {
  return summedPartsOf(*panel, chooseBlocking(*panel, shape, features, choice, threads), threads);
}

/// Computes the sums of a tile over blocks [firstBlock, lastBlock).
static void multiplyTile(const PanelKernel &kernel, const PackedOperand &lhs,
                         const PackedOperand &rhs, int64_t row, int64_t rows, int64_t column,
                         int64_t columns, int64_t firstBlock, int64_t lastBlock, std::byte *sums,
                         int64_t stride) {
  const auto sumBytes = static_cast<int64_t>(numerics::storageBytes(kernel.sums));
  const int64_t rowPanel = row / kernel.rows, columnPanel = column / kernel.columns;
  const int64_t rowPanels = divideUp(rows, kernel.rows);
  const int64_t columnPanels = divideUp(columns, kernel.columns);
  for (int64_t block = firstBlock; block < lastBlock; ++block) {
    // A panel of lhs that is not shared is packed just before it is multiplied, while the panels of
    // rhs are in L2, unless it is cheaper to pack several of them together.
    const bool packsEach = !lhs.shared && !lhs.isAcross();
    const std::byte *left = packsEach ? nullptr : lhs.block(block, rowPanel, rowPanel + rowPanels);
    const std::byte *right = rhs.block(block, columnPanel, columnPanel + columnPanels);
    const int64_t depth = lhs.blockDepth(block);
    if (kernel.enter)
      kernel.enter();
    // A panel of lhs stays in L1 while the panels of rhs stream through it, and sums are written
    // along rows.
    for (int64_t i = 0; i < rowPanels; ++i) {
      const std::byte *panel = packsEach ? lhs.block(block, rowPanel + i, rowPanel + i + 1)
                                         : left + i * lhs.panelBytes(block);
      for (int64_t j = 0; j < columnPanels; ++j)
        kernel.multiply(depth, panel, right + j * rhs.panelBytes(block),
                        sums + (i * kernel.rows * stride + j * kernel.columns) * sumBytes, stride,
                        std::min(kernel.rows, rows - i * kernel.rows),
                        std::min(kernel.columns, columns - j * kernel.columns), block > firstBlock);
    }
    if (kernel.leave)
      kernel.leave();
  }
}

/// Packs the shared panels of one or both operands on all threads.
static void packShared(std::initializer_list<const PackedOperand *> operands, int64_t blocks,
                       ThreadPool &pool) {
  // Adjacent panels are on the same pages, so pack them together.
  constexpr int64_t together = 8;
  int64_t count = 0;
  for (const PackedOperand *operand : operands)
    count += operand && operand->shared ? blocks * divideUp(operand->sharedCount, together) : 0;
  pool.parallelFor(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t item = i;
      for (const PackedOperand *operand : operands) {
        if (!operand || !operand->shared)
          continue;
        const int64_t groups = divideUp(operand->sharedCount, together);
        if (item < blocks * groups) {
          const int64_t block = item / groups;
          const int64_t first = operand->sharedFirst + item % groups * together;
          const int64_t end = operand->sharedFirst + operand->sharedCount;
          operand->packPanels(block, first, std::min(first + together, end),
                              operand->sharedAt(block, first));
          break;
        }
        item -= blocks * groups;
      }
    }
  });
}

void Matmul::Runner::runPanels(const Product &product) const {
  const PanelKernel &kernel = *matmul.panel;
  const int64_t threads = pool.threadCount();
  const Blocking blocking = chooseBlocking(kernel, shape, matmul.features, matmul.choice, threads);
  auto bytes = [](ElementType type) { return static_cast<int64_t>(numerics::storageBytes(type)); };
  PackedOperand lhs{product.lhs,           matmul.lhsToPanel, kernel.packLhs,
                    kernel.rows,           kernel.depth,      shape.rows,
                    shape.summed,          blocking.summed,   bytes(kernel.lhsPacked),
                    PanelScratch::lhsBlock};
  PackedOperand rhs{product.rhs,           matmul.rhsToPanel, kernel.packRhs,
                    kernel.columns,        kernel.depth,      shape.columns,
                    shape.summed,          blocking.summed,   bytes(kernel.rhsPacked),
                    PanelScratch::rhsBlock};
  PanelScratch &scratch = PanelScratch::ofThread();
  const int64_t tiles = blocking.rowTiles * blocking.columnTiles;
  auto rowsOf = [&](int64_t tile) { return tile % blocking.rowTiles * blocking.rows; };
  auto columnsOf = [&](int64_t tile) { return tile / blocking.rowTiles * blocking.columns; };

  if (const int64_t parts = summedPartsOf(kernel, blocking, threads); parts > 1) {
    const int64_t blocksOfPart = divideUp(blocking.summedBlocks, parts);
    const int64_t partBytes = roundUp(shape.rows * shape.columns * sumBytes(), 64);
    std::byte *partial = scratch.get(PanelScratch::partial, parts * partBytes);
    pool.parallelFor(tiles * parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t tile = i / parts, part = i % parts;
        const int64_t row = rowsOf(tile), column = columnsOf(tile);
        multiplyTile(kernel, lhs, rhs, row, std::min(blocking.rows, shape.rows - row), column,
                     std::min(blocking.columns, shape.columns - column), part * blocksOfPart,
                     std::min((part + 1) * blocksOfPart, blocking.summedBlocks),
                     partial + part * partBytes + (row * shape.columns + column) * sumBytes(),
                     shape.columns);
      }
    });
    for (int64_t part = 1; part * blocksOfPart < blocking.summedBlocks; ++part)
      addSums(partial, partial + part * partBytes, shape.rows * shape.columns);
    finish(product, partial, shape.columns, 0, shape.rows, 0, shape.columns);
    return scratch.trim();
  }

  // Pack an operand once if several tiles use it, for as many tiles at a time as fit in the limit:
  // all panels of the im2col matrix of a convolution would take hundreds of MiB.
  const int64_t maxShared = matmul.choice.maxShared ? matmul.choice.maxShared : 16 << 20;
  auto tilesAtOnce = [&](const PackedOperand &operand, bool isShared, int64_t tileLines,
                         int64_t allTiles) {
    return isShared ? std::clamp<int64_t>(maxShared / operand.bytesOf(tileLines), 1, allTiles)
                    : allTiles;
  };
  // With tile registers, tiles are so wide that packing lhs twice takes less time than writing
  // its panels to L3 and reading them twice.
  const bool isRepacked =
      kernel.enter && !lhs.isAcross() && (!lhs.view.prologue || lhs.view.prologue->isCheap);
  const bool sharesLhs = blocking.columnTiles > (isRepacked ? repackedTiles : 1);
  const int64_t rowTiles = tilesAtOnce(lhs, sharesLhs, blocking.rows, blocking.rowTiles);
  const int64_t columnTiles =
      tilesAtOnce(rhs, blocking.rowTiles > 1, blocking.columns, blocking.columnTiles);
  if (sharesLhs)
    lhs.shared = scratch.get(PanelScratch::lhsPanels, lhs.bytesOf(rowTiles * blocking.rows));
  if (blocking.rowTiles > 1)
    rhs.shared = scratch.get(PanelScratch::rhsPanels, rhs.bytesOf(columnTiles * blocking.columns));

  const bool inPlace = writesInPlace();
  auto computeTile = [&](int64_t row, int64_t column) {
    const int64_t rows = std::min(blocking.rows, shape.rows - row);
    const int64_t columns = std::min(blocking.columns, shape.columns - column);
    if (inPlace) {
      multiplyTile(kernel, lhs, rhs, row, rows, column, columns, 0, blocking.summedBlocks,
                   product.result + (row * shape.resultRows.stride + column) * sumBytes(),
                   shape.resultRows.stride);
      return;
    }
    std::byte *sums =
        PanelScratch::ofThread().get(PanelScratch::sumsTile, rows * columns * sumBytes());
    multiplyTile(kernel, lhs, rhs, row, rows, column, columns, 0, blocking.summedBlocks, sums,
                 columns);
    finish(product, sums, columns, row, rows, column, columns);
  };
  const bool isLhsWhole = rowTiles == blocking.rowTiles;
  for (int64_t firstColumn = 0; firstColumn < blocking.columnTiles; firstColumn += columnTiles)
    for (int64_t firstRow = 0; firstRow < blocking.rowTiles; firstRow += rowTiles) {
      const int64_t rowsNow = std::min(rowTiles, blocking.rowTiles - firstRow);
      const int64_t columnsNow = std::min(columnTiles, blocking.columnTiles - firstColumn);
      const bool packsLhs = firstColumn == 0 || !isLhsWhole, packsRhs = firstRow == 0;
      if (packsLhs)
        lhs.shareLines(firstRow * blocking.rows, (firstRow + rowsNow) * blocking.rows);
      if (packsRhs)
        rhs.shareLines(firstColumn * blocking.columns,
                       (firstColumn + columnsNow) * blocking.columns);
      packShared({packsRhs ? &rhs : nullptr, packsLhs ? &lhs : nullptr}, blocking.summedBlocks,
                 pool);
      pool.parallelFor(rowsNow * columnsNow, 1, [&](int64_t begin, int64_t end) {
        for (int64_t tile = begin; tile < end; ++tile)
          computeTile((firstRow + tile % rowsNow) * blocking.rows,
                      (firstColumn + tile / rowsNow) * blocking.columns);
      });
    }
  scratch.trim();
}

template <typename T> static void addRun(T *to, const T *from, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] += from[i];
}

void Matmul::Runner::addSums(std::byte *to, const std::byte *from, int64_t count) const {
  auto add = [&]<typename T>(T *target, int64_t numbers) {
    addRun(target, reinterpret_cast<const T *>(from), numbers);
  };
  switch (matmul.sums) {
  case ElementType::f64:
    return add(reinterpret_cast<double *>(to), count);
  case ElementType::c128:
    return add(reinterpret_cast<double *>(to), 2 * count);
  case ElementType::c64:
    return add(reinterpret_cast<float *>(to), 2 * count);
  case ElementType::i32:
    return add(reinterpret_cast<uint32_t *>(to), count);
  case ElementType::i64:
    return add(reinterpret_cast<uint64_t *>(to), count);
  default:
    return add(reinterpret_cast<float *>(to), count);
  }
}

} // namespace tilewright::runtime::cpu
