// dot_general as a batch of matrix products. Nothing is transposed: dimensions that are contiguous
// in memory become one side of a matrix; otherwise the side has an offset for each index.
#include "tilewright/runtime/cpu/library/CallReader.h"
#include "tilewright/runtime/cpu/matmul/Placement.h"
#include "tilewright/runtime/cpu/matmul/Product.h"
#include "tilewright/runtime/cpu/matmul/ScaledDot.h"

#include <algorithm>
#include <numeric>

namespace tilewright::runtime::cpu {

namespace {

/// Dimensions of a tensor that form a side of a matrix.
std::vector<StridedDimension> dimensionsOf(const Shape &shape, const Dims &dims) {
  const Dims strides = shape.strides();
  std::vector<StridedDimension> dimensions;
  for (int64_t dim : dims)
    dimensions.push_back({shape[dim], strides[static_cast<size_t>(dim)]});
  return dimensions;
}

struct DotDimensions {
  Dims lhsBatching, rhsBatching, lhsContracting, rhsContracting;
};

/// Chooses the order of the contracting dimensions (as given, as in rhs, or as in lhs) in which
/// most of them can be joined, because dimensions that cannot be joined need a table of offsets.
/// The order of summation does not matter.
void orderContracted(DotDimensions &dims, const Shape &lhs, const Shape &rhs) {
  const size_t count = dims.lhsContracting.size();
  auto ordered = [&](const Dims &by, const Dims &values) {
    Dims order(count);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return by[static_cast<size_t>(a)] < by[static_cast<size_t>(b)];
    });
    return pick(values, order);
  };
  auto sidesOf = [&](const Dims &lhsDims, const Dims &rhsDims) {
    return joinDimensions(dimensionsOf(lhs, lhsDims)).size() +
           joinDimensions(dimensionsOf(rhs, rhsDims)).size();
  };
  for (const Dims &by : {Dims(dims.rhsContracting), Dims(dims.lhsContracting)}) {
    const Dims lhsDims = ordered(by, dims.lhsContracting);
    const Dims rhsDims = ordered(by, dims.rhsContracting);
    if (sidesOf(lhsDims, rhsDims) <= sidesOf(dims.lhsContracting, dims.rhsContracting)) {
      dims.lhsContracting = lhsDims;
      dims.rhsContracting = rhsDims;
    }
  }
}

/// The product for a dot_general whose dimensions have been checked.
MatmulProblem problemOf(DotDimensions dims, ElementType lhsType, const Shape &lhs,
                        ElementType rhsType, const Shape &rhs, ElementType resultType) {
  orderContracted(dims, lhs, rhs);
  const Dims lhsFree = remaining(lhs.rank(), joined({dims.lhsBatching, dims.lhsContracting}));
  const Dims rhsFree = remaining(rhs.rank(), joined({dims.rhsBatching, dims.rhsContracting}));
  const Dims lhsStrides = lhs.strides(), rhsStrides = rhs.strides();
  auto product = [](const Dims &sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
  };
  const Dims summedSizes = pick(lhs.dims(), dims.lhsContracting);
  const Dims rowSizes = pick(lhs.dims(), lhsFree), columnSizes = pick(rhs.dims(), rhsFree);

  MatmulProblem problem = MatmulProblem::dense(lhsType, rhsType, resultType, product(rowSizes),
                                               product(columnSizes), product(summedSizes));
  int64_t resultStride = problem.rows * problem.columns;
  problem.batch.resize(dims.lhsBatching.size());
  for (size_t i = problem.batch.size(); i-- > 0;) {
    const auto lhsDim = static_cast<size_t>(dims.lhsBatching[i]);
    const int64_t size = lhs.dims()[lhsDim];
    problem.batch[i] = {size, lhsStrides[lhsDim],
                        rhsStrides[static_cast<size_t>(dims.rhsBatching[i])], resultStride};
    resultStride *= size;
  }
  // If an operand is empty, there are no offsets.
  if (problem.rows == 0 || problem.columns == 0 || problem.summed == 0)
    return problem;
  problem.lhsRows = placementOf(dimensionsOf(lhs, lhsFree));
  problem.lhsSummed = placementOf(dimensionsOf(lhs, dims.lhsContracting));
  problem.rhsSummed = placementOf(dimensionsOf(rhs, dims.rhsContracting));
  problem.rhsColumns = placementOf(dimensionsOf(rhs, rhsFree));
  return problem;
}

/// The bodies of a call are scalar functions by default; this one has the ABI of an epilogue.
using ApplyEpilogue = decltype(Epilogue::apply);

class DotKernel : public LibraryKernel {
public:
  DotKernel(MatmulProblem problem, ApplyEpilogue epilogue)
      : product(std::move(problem), Candidates::ofProcess(),
                epilogue ? Product::Form::fused : Product::Form::plain),
        epilogue(epilogue) {}

  Status run(const LibraryRun &run) const override {
    MatmulOperands operands{.lhs = run.operands[0], .rhs = run.operands[1]};
    if (!epilogue) {
      operands.result = run.results[0];
      product.run(operands, run.pool);
      return Status();
    }
    std::vector<void *> buffers;
    for (const std::byte *operand : run.operands.subspan(2))
      buffers.push_back(const_cast<std::byte *>(operand));
    buffers.insert(buffers.end(), run.results.begin(), run.results.end());
    operands.epilogue = {epilogue, buffers.data()};
    product.run(operands, run.pool);
    return Status();
  }

private:
  Product product;
  ApplyEpilogue epilogue;
};

} // namespace

static Status checkDimensions(const CallReader &reader, const DotDimensions &dims, const Shape &lhs,
                              const Shape &rhs) {
  TILEWRIGHT_TRY(reader.checkDims("lhs dimensions", joined({dims.lhsBatching, dims.lhsContracting}),
                                  lhs.rank()));
  TILEWRIGHT_TRY(reader.checkDims("rhs dimensions", joined({dims.rhsBatching, dims.rhsContracting}),
                                  rhs.rank()));
  auto haveEqualSizes = [&](const Dims &lhsDims, const Dims &rhsDims) {
    return pick(lhs.dims(), lhsDims) == pick(rhs.dims(), rhsDims);
  };
  if (!haveEqualSizes(dims.lhsBatching, dims.rhsBatching))
    return reader.failure("batching dimensions of lhs ", lhs.toString(), " and rhs ",
                          rhs.toString(), " must have equal sizes");
  if (!haveEqualSizes(dims.lhsContracting, dims.rhsContracting))
    return reader.failure("contracted dimensions of lhs ", lhs.toString(), " and rhs ",
                          rhs.toString(), " must have equal sizes");
  return Status();
}

/// The precision is a lower bound: sums of reals are always in f32 or f64.
///
/// If the call has a `productType`, the first body is an epilogue (see Matmul.h), and the dot
/// itself would have had this type. The operands after the first two and all results are the
/// epilogue's buffers, whose shapes are not checked here.
KernelResult prepareDotGeneral(const artifact::DotGeneralCall &call,
                               const LibrarySignature &types) {
  if (call.block != 0)
    return prepareScaledDot(call, types);
  CallReader reader(call.name, types);
  const bool hasEpilogue = call.productType.has_value();
  if (hasEpilogue ? types.operands.size() < 2 || types.results.empty() || types.bodies.empty()
                  : types.operands.size() != 2 || types.results.size() != 1)
    return reader.failure("must have 2 operands and 1 result, or with an epilogue at least 2 "
                          "operands, 1 result and 1 body, got ",
                          types.operands.size(), " operands and ", types.results.size(),
                          " results");
  TILEWRIGHT_ASSIGN(Shape lhs, reader.operandShape(0));
  TILEWRIGHT_ASSIGN(Shape rhs, reader.operandShape(1));
  DotDimensions dims{.lhsBatching = call.lhsBatchingDimensions,
                     .rhsBatching = call.rhsBatchingDimensions,
                     .lhsContracting = call.lhsContractingDimensions,
                     .rhsContracting = call.rhsContractingDimensions};
  TILEWRIGHT_TRY(checkDimensions(reader, dims, lhs, rhs));

  const ElementType resultType = call.productType.value_or(types.results[0].element);
  const ElementType lhsType = types.operands[0].element, rhsType = types.operands[1].element;
  if (!Matmul::supports(lhsType, rhsType, resultType))
    return reader.failure("products of ", numerics::spelling(lhsType), " and ",
                          numerics::spelling(rhsType), " cannot be accumulated in ",
                          numerics::spelling(resultType));
  const Dims resultDims = joined(
      {pick(lhs.dims(), dims.lhsBatching),
       pick(lhs.dims(), remaining(lhs.rank(), joined({dims.lhsBatching, dims.lhsContracting}))),
       pick(rhs.dims(), remaining(rhs.rank(), joined({dims.rhsBatching, dims.rhsContracting})))});
  TILEWRIGHT_ASSIGN(Shape result, Shape::create(resultDims));
  if (!hasEpilogue)
    TILEWRIGHT_TRY(reader.expectResult(0, resultType, resultDims));
  return makeKernel<DotKernel>(
      problemOf(std::move(dims), lhsType, lhs, rhsType, rhs, resultType),
      hasEpilogue ? reinterpret_cast<ApplyEpilogue>(reinterpret_cast<void (*)()>(types.bodies[0]))
                  : nullptr);
}

} // namespace tilewright::runtime::cpu
