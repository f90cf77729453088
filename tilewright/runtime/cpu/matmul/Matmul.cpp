#include "tilewright/runtime/cpu/matmul/Matmul.h"

#include "tilewright/runtime/cpu/matmul/Runner.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tilewright::runtime::cpu {

using numerics::bitWidth;
using numerics::ElementKind;
using numerics::isComplex;
using numerics::isReal;
using numerics::isSigned;
using numerics::kindOf;

MatmulProblem MatmulProblem::dense(ElementType lhs, ElementType rhs, ElementType result,
                                   int64_t rows, int64_t columns, int64_t summed) {
  MatmulProblem problem;
  problem.lhsType = lhs;
  problem.rhsType = rhs;
  problem.resultType = result;
  problem.rows = rows;
  problem.columns = columns;
  problem.summed = summed;
  problem.lhsRows.stride = summed;
  problem.rhsSummed.stride = columns;
  problem.resultRows.stride = columns;
  return problem;
}

static bool areInteger(ElementType lhs, ElementType rhs, ElementType result) {
  auto isInteger = [](ElementType type) { return !isReal(type) && !isComplex(type); };
  return isInteger(lhs) && isInteger(rhs) && isInteger(result);
}

bool Matmul::supports(ElementType lhs, ElementType rhs, ElementType result) {
  if (isComplex(result))
    return true;
  if (isReal(result))
    return !isComplex(lhs) && !isComplex(rhs);
  return areInteger(lhs, rhs, result);
}

static ElementType sumsOf(ElementType lhs, ElementType rhs, ElementType result) {
  auto isOneOf = [&](ElementType type) { return lhs == type || rhs == type || result == type; };
  const bool isWide = isOneOf(ElementType::f64) || isOneOf(ElementType::c128);
  if (isComplex(result))
    return isWide ? ElementType::c128 : ElementType::c64;
  if (isReal(result))
    return isWide ? ElementType::f64 : ElementType::f32;
  // Whether a pred is true depends on all bits of the sum, so use the widest type.
  const bool isShort = result != ElementType::pred && bitWidth(result) <= 32;
  return isShort ? ElementType::i32 : ElementType::i64;
}

/// Whether bf16 instructions may multiply numbers of the type. They flush subnormals, which is
/// accepted for bf16 itself (docs/reference/accuracy.md). The smallest value of f8E8M0FNU is
/// subnormal in bf16, and would be lost.
static bool fitsBf16(ElementType type) {
  if (isReal(type))
    return type == ElementType::bf16 || (bitWidth(type) <= 8 && type != ElementType::f8E8M0FNU);
  return !isComplex(type) && bitWidth(type) <= 8;
}

/// The byte type that holds an integer type of at most 8 bits.
static ElementType byteOf(ElementType type) {
  return isSigned(type) ? ElementType::i8 : ElementType::ui8;
}

static const PanelKernel *choosePanel(const CpuFeatures &features, const MatmulProblem &problem,
                                      ElementType sums, bool allowNarrow) {
  const ElementType lhs = problem.lhsType, rhs = problem.rhsType;
  if (allowNarrow && sums == ElementType::f32 && fitsBf16(lhs) && fitsBf16(rhs) &&
      features.multipliesBf16())
    if (const PanelKernel *kernel =
            findPanelKernel(features, ElementType::bf16, ElementType::bf16, sums))
      return kernel;
  if (allowNarrow && sums == ElementType::i32) {
    auto fitsPair = [](ElementType type) {
      return bitWidth(type) <= 8 || type == ElementType::i16;
    };
    if (bitWidth(lhs) <= 8 && bitWidth(rhs) <= 8)
      if (const PanelKernel *kernel = findPanelKernel(features, byteOf(lhs), byteOf(rhs), sums))
        return kernel;
    if (fitsPair(lhs) && fitsPair(rhs))
      if (const PanelKernel *kernel =
              findPanelKernel(features, ElementType::i16, ElementType::i16, sums))
        return kernel;
  }
  return findPanelKernel(features, sums, sums, sums);
}

static const VectorKernel *chooseVector(const CpuFeatures &features, const MatmulProblem &problem,
                                        ElementType sums) {
  if (sums == ElementType::i32 && bitWidth(problem.lhsType) <= 8)
    if (const VectorKernel *kernel =
            findVectorKernel(features, byteOf(problem.lhsType), problem.rhsType, sums))
      return kernel;
  return findVectorKernel(features, sums, problem.rhsType, sums);
}

static bool isUnit(const Placement &placement) {
  return placement.isEven() && placement.stride == 1;
}

/// Up to this many rows, the product takes as long as reading rhs once.
constexpr int64_t maxStreamedRows = 8;

/// Whether computing without packing is faster; measured on AVX-512 with AMX.
static bool isSmall(const MatmulProblem &problem, const PanelKernel &panel, int64_t given) {
  int64_t most = 32 << 10;
  if (panel.lhsPacked != panel.sums)
    most = 4 << 10; // instructions for narrow types are worth the packing
  else if (!isUnit(problem.rhsColumns) || !problem.rhsSummed.isEven() ||
           problem.lhsType != panel.sums || problem.rhsType != panel.sums)
    most = 12 << 10; // operands must be copied first
  most = given ? given : most;
  // Compute in double: sizes of an operand that a prologue produces are not limited by memory.
  const double rows = double(problem.rows), columns = double(problem.columns);
  return (rows + columns) * double(problem.summed) + rows * columns <= double(most);
}

/// Rewrites the problem as the product of the transposed operands in reverse order: (AB)' = B'A'.
static void transpose(MatmulProblem &problem) {
  std::swap(problem.lhsType, problem.rhsType);
  std::swap(problem.rows, problem.columns);
  std::swap(problem.lhsRows, problem.rhsColumns);
  std::swap(problem.lhsSummed, problem.rhsSummed);
  std::swap(problem.resultRows, problem.resultColumns);
  for (BatchDimension &dim : problem.batch)
    std::swap(dim.lhsStride, dim.rhsStride);
}

Matmul::Matmul(MatmulProblem problem, const CpuFeatures &features)
    : Matmul(std::move(problem), features, Choice()) {}

Matmul::Matmul(MatmulProblem problem, const CpuFeatures &features, const Choice &choice)
    : shape(std::move(problem)), features(features), choice(choice),
      sums(sumsOf(shape.lhsType, shape.rhsType, shape.resultType)), lhsToSums(features, sums, sums),
      rhsToSums(lhsToSums), lhsToVector(lhsToSums), lhsToPanel(lhsToSums), rhsToPanel(lhsToSums),
      resultConversion(features, sums, shape.resultType) {
  if (shape.rows <= 0 || shape.columns <= 0 || shape.summed <= 0 || shape.batchCount() <= 0)
    return;
  if ((shape.columns <= maxStreamedRows && shape.rows > 4 * maxStreamedRows) ||
      (shape.columns == 1 && shape.rows > 1) ||
      (shape.rows > 1 && !isUnit(shape.resultColumns) && isUnit(shape.resultRows))) {
    transpose(shape);
    isTransposed = true;
  }

  panel = choosePanel(features, shape, sums, choice.allowNarrowPanels);
  vector = chooseVector(features, shape, sums);
  const bool isStreamed = isUnit(shape.rhsColumns)
                              ? shape.rhsSummed.isEven()
                              : isUnit(shape.rhsSummed) && shape.rhsColumns.isEven();
  direct = findDirectKernel(features, sums);
  if (choice.allowDirect && direct && isSmall(shape, *panel, choice.maxDirect))
    chosenPath = Path::direct;
  else if (choice.allowVector && vector && shape.rows <= maxStreamedRows && isStreamed)
    chosenPath = Path::vector;
  else
    chosenPath = Path::panels;

  lhsToSums = Conversion(features, shape.lhsType, sums);
  rhsToSums = Conversion(features, shape.rhsType, sums);
  lhsToPanel = Conversion(features, shape.lhsType, panel->lhsPacked);
  if (vector)
    lhsToVector = Conversion(features, shape.lhsType, vector->lhs);
  rhsToPanel = Conversion(features, shape.rhsType, panel->rhsPacked);
}

std::string Matmul::name() const {
  switch (chosenPath) {
  case Path::empty:
    return "empty";
  case Path::vector:
    return concat(features.name(), " ", numerics::spelling(shape.rhsType), " vector");
  case Path::direct:
    return concat(features.name(), " ", numerics::spelling(sums), " direct");
  case Path::panels:
    break;
  }
  const std::string tiles = choice.maxRows || choice.maxColumns
                                ? concat(" of ", choice.maxRows, "x", choice.maxColumns)
                                : std::string();
  return concat(panel->name, " panels", tiles);
}

std::string Matmul::order(int64_t threads) const {
  if (sums == ElementType::i32 || sums == ElementType::i64)
    return "exact";
  if (chosenPath != Path::panels)
    return name();
  return concat(panel->name, " panels, ", summedParts(threads), " parts");
}

void Matmul::run(const MatmulOperands &operands, ThreadPool &pool) const {
  Runner(*this, operands, pool).runBatch(operands);
}

Matmul::Runner::Runner(const Matmul &matmul, const MatmulOperands &operands, ThreadPool &pool)
    : matmul(matmul), shape(matmul.shape), pool(pool),
      lhsPrologue(operands.lhsPrologue.make ? &operands.lhsPrologue : nullptr),
      rhsPrologue(operands.rhsPrologue.make ? &operands.rhsPrologue : nullptr),
      epilogue(operands.epilogue.apply ? &operands.epilogue : nullptr) {
  if (matmul.isTransposed)
    std::swap(lhsPrologue, rhsPrologue);
}

/// The number of multiplications from which waking another thread pays off.
constexpr int64_t worthAThread = 200'000;

void Matmul::Runner::runBatch(const MatmulOperands &operands) const {
  const int64_t count = shape.batchCount();
  const void *lhs = matmul.isTransposed ? operands.rhs : operands.lhs;
  const void *rhs = matmul.isTransposed ? operands.lhs : operands.rhs;
  auto runOne = [&](int64_t index) {
    int64_t lhsOffset = 0, rhsOffset = 0, resultOffset = 0, rest = index;
    for (size_t i = shape.batch.size(); i-- > 0;) {
      const BatchDimension &dim = shape.batch[i];
      const int64_t at = rest % dim.size;
      rest /= dim.size;
      lhsOffset += at * dim.lhsStride;
      rhsOffset += at * dim.rhsStride;
      resultOffset += at * dim.resultStride;
    }
    auto bytes = [](ElementType type) {
      return static_cast<int64_t>(numerics::storageBytes(type));
    };
    // A pointer is null if a prologue or epilogue replaces the operand or result; do not offset it.
    auto moved = [](const void *data, int64_t offset) {
      return data ? static_cast<const std::byte *>(data) + offset : nullptr;
    };
    Product product{
        index,
        {moved(lhs, lhsOffset * bytes(shape.lhsType)), shape.lhsType, &shape.lhsRows,
         &shape.lhsSummed, lhsPrologue, index * shape.rows},
        {moved(rhs, rhsOffset * bytes(shape.rhsType)), shape.rhsType, &shape.rhsColumns,
         &shape.rhsSummed, rhsPrologue, index * shape.columns},
        const_cast<std::byte *>(moved(operands.result, resultOffset * bytes(shape.resultType)))};
    runProduct(product);
  };

  if (count == 1)
    return runOne(0);
  // If products are many or small, run each on one thread; otherwise, split each over all threads.
  const int64_t work =
      std::max<int64_t>(1, shape.rows * shape.columns) * std::max<int64_t>(1, shape.summed);
  const int64_t threads = pool.threadCount();
  if (count >= 4 * threads || work < 16 * worthAThread) {
    pool.parallelFor(count, static_cast<int64_t>(std::max(1.0, double(worthAThread) / work)),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i)
                         runOne(i);
                     });
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    runOne(i);
}

void Matmul::Runner::runProduct(const Product &product) const {
  switch (matmul.chosenPath) {
  case Path::empty:
    return runEmpty(product);
  case Path::vector:
    // An operand that a prologue produces is not in memory, so it cannot be streamed.
    if (!product.lhs.prologue && !product.rhs.prologue)
      return runVector(product);
    break;
  case Path::direct:
    return runDirect(product);
  case Path::panels:
    break;
  }
  runPanels(product);
}

bool Matmul::Runner::writesInPlace() const {
  return !epilogue && matmul.resultConversion.isIdentity() && isUnit(shape.resultColumns) &&
         shape.resultRows.isEven();
}

void Matmul::Runner::finish(const Product &product, const std::byte *tile, int64_t stride,
                            int64_t row, int64_t rows, int64_t column, int64_t columns) const {
  if (!epilogue) {
    storeSums(matmul.resultConversion, tile, stride, row, rows, column, columns, product.result,
              shape.resultRows, shape.resultColumns);
    return;
  }
  if (!matmul.isTransposed) {
    const int64_t first = product.index * shape.rows + row;
    epilogue->apply(epilogue->buffers, first, first + rows, column, column + columns, tile, stride);
    return;
  }
  // Columns of the computed product are rows of the requested one.
  const int64_t first = product.index * shape.columns + column;
  if (rows > 1) {
    std::byte *turned =
        PanelScratch::ofThread().get(PanelScratch::turnedTile, rows * columns * sumBytes());
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < rows; ++i)
        std::memcpy(turned + (j * rows + i) * sumBytes(), tile + (i * stride + j) * sumBytes(),
                    static_cast<size_t>(sumBytes()));
    tile = turned;
  }
  epilogue->apply(epilogue->buffers, first, first + columns, row, row + rows, tile, rows);
}

void Matmul::Runner::runEmpty(const Product &product) const {
  if (shape.rows <= 0 || shape.columns <= 0)
    return;
  std::vector<std::byte> zeros(static_cast<size_t>(shape.columns * sumBytes()));
  for (int64_t row = 0; row < shape.rows; ++row)
    finish(product, zeros.data(), shape.columns, row, 1, 0, shape.columns);
}

void Matmul::Runner::runDirect(const Product &product) const {
  const LoadedBlock lhsBlock =
      loadBlock(product.lhs, matmul.lhsToSums, 0, shape.rows, 0, shape.summed);
  LoadedBlock lhs = lhsBlock;
  PanelScratch &scratch = PanelScratch::ofThread();
  // Loading rhs may overwrite the scratch memory that holds lhs.
  if (lhs.data != product.lhs.data) {
    const int64_t bytes = shape.rows * shape.summed * sumBytes();
    std::byte *copy = scratch.get(PanelScratch::lhsBlock, bytes);
    std::memcpy(copy, lhs.data, static_cast<size_t>(bytes));
    lhs.data = copy;
  }
  LoadedBlock rhs = loadBlock(product.rhs, matmul.rhsToSums, 0, shape.columns, 0, shape.summed);
  if (rhs.lineStride != 1) {
    std::byte *copy =
        scratch.get(PanelScratch::rhsBlock, shape.columns * shape.summed * sumBytes());
    const size_t bytes = static_cast<size_t>(sumBytes());
    auto turn = [&]<typename T>(T *to) {
      const T *from = reinterpret_cast<const T *>(rhs.data);
      for (int64_t k = 0; k < shape.summed; ++k)
        for (int64_t n = 0; n < shape.columns; ++n)
          *to++ = from[n * rhs.lineStride + k * rhs.summedStride];
    };
    if (bytes == 4)
      turn(reinterpret_cast<uint32_t *>(copy));
    else
      turn(reinterpret_cast<uint64_t *>(copy));
    rhs = {copy, 1, shape.columns};
  }
  if (writesInPlace()) {
    matmul.direct->multiply(shape.rows, shape.columns, shape.summed, lhs.data, lhs.lineStride,
                            lhs.summedStride, rhs.data, rhs.summedStride, product.result,
                            shape.resultRows.stride);
    return;
  }
  std::byte *tile = scratch.get(PanelScratch::sumsTile, shape.rows * shape.columns * sumBytes());
  matmul.direct->multiply(shape.rows, shape.columns, shape.summed, lhs.data, lhs.lineStride,
                          lhs.summedStride, rhs.data, rhs.summedStride, tile, shape.columns);
  finish(product, tile, shape.columns, 0, shape.rows, 0, shape.columns);
}

void Matmul::Runner::runVector(const Product &product) const {
  const int64_t bytes = sumBytes();
  const auto lhsBytes = static_cast<int64_t>(numerics::storageBytes(matmul.vector->lhs));
  std::byte *lhs =
      PanelScratch::ofThread().get(PanelScratch::vector, shape.rows * shape.summed * lhsBytes);
  for (int64_t i = 0; i < shape.rows; ++i) {
    const LoadedBlock row = loadBlock(product.lhs, matmul.lhsToVector, i, 1, 0, shape.summed);
    std::byte *to = lhs + i * shape.summed * lhsBytes;
    for (int64_t k = 0; k < shape.summed; ++k)
      std::memcpy(to + k * lhsBytes, row.data + k * row.summedStride * lhsBytes,
                  static_cast<size_t>(lhsBytes));
  }

  const int64_t rhsBytes = static_cast<int64_t>(numerics::storageBytes(shape.rhsType));
  const bool isRowMajor = isUnit(shape.rhsColumns);
  // Make parts wide enough to be read as streams and to pay for waking a thread. With several rows,
  // limit their width so that the sums and the streams stay in L1.
  const int64_t grain = std::max<int64_t>(isRowMajor ? 256 : 4, worthAThread / shape.summed);
  const int64_t most =
      isRowMajor && shape.rows > 1 ? std::max<int64_t>(256, 512 / rhsBytes) : shape.columns;
  auto multiply = [&](int64_t column, int64_t count) {
    std::byte *tile =
        PanelScratch::ofThread().get(PanelScratch::sumsTile, shape.rows * count * bytes);
    if (isRowMajor) {
      std::memset(tile, 0, static_cast<size_t>(shape.rows * count * bytes));
      matmul.vector->addRows(shape.rows, count, shape.summed, lhs,
                             product.rhs.data + column * rhsBytes, shape.rhsSummed.stride, tile);
    } else {
      matmul.vector->transposed(shape.rows, count, shape.summed, lhs,
                                product.rhs.data + column * shape.rhsColumns.stride * rhsBytes,
                                shape.rhsColumns.stride, tile);
    }
    finish(product, tile, count, 0, shape.rows, column, count);
  };
  // For one row, split the sum over the threads, so that each reads contiguous memory.
  const int64_t parts = std::min<int64_t>(2 * pool.threadCount(), shape.summed / 64);
  if (isRowMajor && shape.rows == 1 && pool.threadCount() > 1 && parts > 1 &&
      double(shape.columns) * double(shape.summed) >= 2.0 * worthAThread) {
    const int64_t partBytes = (shape.columns * bytes + 63) / 64 * 64;
    std::byte *partial = PanelScratch::ofThread().get(PanelScratch::partial, parts * partBytes);
    pool.parallelFor(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t first = shape.summed * part / parts, last = shape.summed * (part + 1) / parts;
        std::byte *sums = partial + part * partBytes;
        std::memset(sums, 0, static_cast<size_t>(partBytes));
        matmul.vector->addRows(1, shape.columns, last - first, lhs + first * lhsBytes,
                               product.rhs.data + first * shape.rhsSummed.stride * rhsBytes,
                               shape.rhsSummed.stride, sums);
      }
    });
    for (int64_t part = 1; part < parts; ++part)
      addSums(partial, partial + part * partBytes, shape.columns);
    return finish(product, partial, shape.columns, 0, 1, 0, shape.columns);
  }
  pool.parallelFor(shape.columns, grain, [&](int64_t begin, int64_t end) {
    for (int64_t column = begin; column < end; column += most)
      multiply(column, std::min(most, end - column));
  });
}

} // namespace tilewright::runtime::cpu
