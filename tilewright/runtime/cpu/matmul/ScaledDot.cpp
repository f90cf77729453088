#include "tilewright/runtime/cpu/matmul/ScaledDot.h"

#include "tilewright/runtime/cpu/matmul/Matmul.h"
#include "tilewright/runtime/cpu/matmul/ScaledRows.h"

#include <limits>
#include <numeric>

namespace tilewright::runtime::cpu {

namespace {

/// One operand of a run.
struct ScaledOperand {
  const ScaledRows &rows;
  const std::byte *elements, *scales;
};

/// A Prologue. A panel is decoded when it is packed, so factors never are in memory as a whole.
void decodeRows(void *const *buffers, int64_t lineBegin, int64_t lineEnd, int64_t summedBegin,
                int64_t summedEnd, void *tile, int64_t tileStride) {
  const auto &operand = *static_cast<const ScaledOperand *>(buffers[0]);
  auto *to = static_cast<std::byte *>(tile);
  for (int64_t line = lineBegin; line < lineEnd; ++line) {
    operand.rows.decode(operand.elements, operand.scales, line, summedBegin, summedEnd, to);
    to += tileStride * operand.rows.factorBytes();
  }
}

class ScaledDotKernel : public LibraryKernel {
public:
  ScaledDotKernel(const MatmulProblem &problem, const ScaledRows &lhs, const ScaledRows &rhs,
                  decltype(Epilogue::apply) epilogue)
      : product(problem), lhs(lhs), rhs(rhs), epilogue(epilogue) {}

  Status run(const LibraryRun &run) const override {
    ScaledOperand left{lhs, run.operands[0], run.operands[2]},
        right{rhs, run.operands[1], run.operands[3]};
    void *const lhsBuffers[] = {&left}, *const rhsBuffers[] = {&right};
    MatmulOperands operands{
        .lhsPrologue = {.make = decodeRows, .buffers = lhsBuffers, .isCheap = true},
        .rhsPrologue = {.make = decodeRows, .buffers = rhsBuffers, .isCheap = true}};
    std::vector<void *> buffers;
    if (epilogue) {
      for (const std::byte *operand : run.operands.subspan(4))
        buffers.push_back(const_cast<std::byte *>(operand));
      buffers.insert(buffers.end(), run.results.begin(), run.results.end());
      operands.epilogue = {epilogue, buffers.data()};
    } else {
      operands.result = run.results[0];
    }
    product.run(operands, run.pool);
    return Status();
  }

private:
  Matmul product;
  ScaledRows lhs, rhs;
  decltype(Epilogue::apply) epilogue;
};

/// The shape of one side, in elements.
struct Side {
  Dims batch, free;
  int64_t depth = 0;

  Dims dims() const { return joined({batch, free, Dims{depth}}); }
  int64_t rows() const {
    return std::accumulate(free.begin(), free.end(), int64_t(1), std::multiplies<>());
  }
};

} // namespace

/// Checks the operand `index`, and its scales two operands later.
static Result<Side> readSide(const CallReader &reader, size_t index, const Dims &batching,
                             const Dims &contracting, int64_t block) {
  const char *name = index == 0 ? "lhs" : "rhs";
  const ElementType element = reader.types.operands[index].element,
                    scale = reader.types.operands[index + 2].element;
  TILEWRIGHT_ASSIGN(Shape shape, reader.operandShape(index));
  TILEWRIGHT_ASSIGN(Shape scales, reader.operandShape(index + 2));
  Dims leading(batching.size());
  std::iota(leading.begin(), leading.end(), 0);
  if (contracting != Dims{shape.rank() - 1} || batching != leading ||
      static_cast<int64_t>(leading.size()) >= shape.rank())
    return reader.failure("scaled ", name, " ", shape.toString(),
                          " must have its batching dimensions first, in order, and its one "
                          "contracting dimension last");
  if (!ScaledRows::supports(element, scale))
    return reader.failure("elements of ", numerics::spelling(element), " times scales of ",
                          numerics::spelling(scale), " must be numbers of bf16");
  const auto split = shape.dims().begin() + static_cast<int64_t>(batching.size());
  Side side{Dims(shape.dims().begin(), split), Dims(split, shape.dims().end() - 1),
            shape.dims().back()};
  // The dimensions of an empty shape have no limit.
  if (shape.elementCount() == 0 && side.depth > std::numeric_limits<int32_t>::max())
    return reader.failure("an empty ", name, " must not be ", side.depth, " elements deep");
  if (element == ScaledRows::packed)
    side.depth *= 2;
  Dims expected = side.dims();
  expected.back() = side.depth / block + (side.depth % block != 0);
  if (Dims(scales.dims().begin(), scales.dims().end()) != expected)
    return reader.failure("scales of ", name, " ", shape.toString(), " must have ", expected.back(),
                          " for each row, one for ", block, " elements, got ", scales.toString());
  return side;
}

KernelResult prepareScaledDot(const artifact::DotGeneralCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  const bool hasEpilogue = call.productType.has_value();
  if (hasEpilogue ? types.operands.size() < 4 || types.results.empty() || types.bodies.empty()
                  : types.operands.size() != 4 || types.results.size() != 1)
    return reader.failure("with a block must have 4 operands and 1 result, or with an epilogue at "
                          "least 4 operands, 1 result and 1 body, got ",
                          types.operands.size(), " operands and ", types.results.size(),
                          " results");
  if (call.block < 1)
    return reader.failure("a block must have at least 1 element, got ", call.block);
  TILEWRIGHT_ASSIGN(Side lhs, readSide(reader, 0, call.lhsBatchingDimensions,
                                       call.lhsContractingDimensions, call.block));
  TILEWRIGHT_ASSIGN(Side rhs, readSide(reader, 1, call.rhsBatchingDimensions,
                                       call.rhsContractingDimensions, call.block));
  if (lhs.batch != rhs.batch || lhs.depth != rhs.depth)
    return reader.failure("batching and contracted dimensions of lhs and rhs must have equal "
                          "sizes, got contracted sizes ",
                          lhs.depth, " and ", rhs.depth);
  const ElementType resultType = call.productType.value_or(types.results[0].element);
  if (!Matmul::supports(ElementType::bf16, ElementType::bf16, resultType) ||
      !numerics::isReal(resultType))
    return reader.failure("scaled products cannot be accumulated in ",
                          numerics::spelling(resultType));
  const Dims resultDims = joined({lhs.batch, lhs.free, rhs.free});
  TILEWRIGHT_ASSIGN(Shape result, Shape::create(resultDims));
  if (!hasEpilogue)
    TILEWRIGHT_TRY(reader.expectResult(0, resultType, resultDims));

  // Without instructions for bf16, panels are f32, and rows are decoded to f32 at once.
  const CpuFeatures &features = CpuFeatures::host();
  const ElementType factor = features.multipliesBf16() ? ElementType::bf16 : ElementType::f32;
  MatmulProblem problem =
      MatmulProblem::dense(factor, factor, resultType, lhs.rows(), rhs.rows(), lhs.depth);
  problem.rhsSummed.stride = 1;
  problem.rhsColumns.stride = lhs.depth;
  int64_t resultStride = problem.rows * problem.columns;
  for (size_t i = lhs.batch.size(); i-- > 0; resultStride *= lhs.batch[i])
    problem.batch.insert(problem.batch.begin(), BatchDimension{lhs.batch[i], 0, 0, resultStride});
  auto rowsOf = [&](size_t index) {
    return ScaledRows(features, types.operands[index].element, types.operands[index + 2].element,
                      call.block, lhs.depth, factor);
  };
  return makeKernel<ScaledDotKernel>(problem, rowsOf(0), rowsOf(1),
                                     hasEpilogue
                                         ? reinterpret_cast<decltype(Epilogue::apply)>(
                                               reinterpret_cast<void (*)()>(types.bodies[0]))
                                         : nullptr);
}

} // namespace tilewright::runtime::cpu
