#include "tilewright/interpret/kernels/Dot.h"

#include "tilewright/support/Concat.h"

namespace tilewright::interpret {

static Status checkPairs(std::string_view verb, const Tensor &lhs, const Tensor &rhs,
                         const Dims &lhsDims, const Dims &rhsDims) {
  if (lhsDims.size() != rhsDims.size())
    return Status(Error::interpretShape,
                  concat("dot_general: ", verb, " ", lhsDims.size(), " dimensions of lhs with ",
                         rhsDims.size(), " dimensions of rhs; the numbers must be equal"));
  for (size_t i = 0; i < lhsDims.size(); ++i) {
    const int64_t lhsSize = lhs.shape()[lhsDims[i]], rhsSize = rhs.shape()[rhsDims[i]];
    if (lhsSize != rhsSize)
      return Status(Error::interpretShape,
                    concat("dot_general: ", verb, " lhs dimension ", lhsDims[i],
                           " with rhs dimension ", rhsDims[i], ", which must be equal, got ",
                           lhsSize, " and ", rhsSize));
  }
  return Status();
}

Result<Tensor> dotGeneral(const Tensor &lhs, const Tensor &rhs, const DotDimensions &dimensions,
                          ElementType resultType, Context &context,
                          const std::optional<DotAlgorithm> &algorithm) {
  const Dims lhsNamed = joined({dimensions.lhsBatching, dimensions.lhsContracting});
  const Dims rhsNamed = joined({dimensions.rhsBatching, dimensions.rhsContracting});
  TILEWRIGHT_TRY(checkDims("dot_general", "dimensions of lhs", lhsNamed, lhs.rank()));
  TILEWRIGHT_TRY(checkDims("dot_general", "dimensions of rhs", rhsNamed, rhs.rank()));
  TILEWRIGHT_TRY(checkPairs("batches", lhs, rhs, dimensions.lhsBatching, dimensions.rhsBatching));
  TILEWRIGHT_TRY(
      checkPairs("contracts", lhs, rhs, dimensions.lhsContracting, dimensions.rhsContracting));

  const Dims lhsFree = remaining(lhs.rank(), lhsNamed);
  const Dims rhsFree = remaining(rhs.rank(), rhsNamed);
  const Dims lhsStrides = lhs.shape().strides(), rhsStrides = rhs.shape().strides();
  Contraction contraction;
  contraction.batch = pick(lhs.shape().dims(), dimensions.lhsBatching);
  contraction.lhsFree = pick(lhs.shape().dims(), lhsFree);
  contraction.rhsFree = pick(rhs.shape().dims(), rhsFree);
  contraction.summed = pick(lhs.shape().dims(), dimensions.lhsContracting);
  contraction.lhsStrides =
      pick(lhsStrides, joined({dimensions.lhsBatching, lhsFree, dimensions.lhsContracting}));
  contraction.rhsStrides =
      pick(rhsStrides, joined({dimensions.rhsBatching, dimensions.rhsContracting, rhsFree}));
  return contract("dot_general", lhs, rhs, contraction, resultType, algorithm, context);
}

Result<Tensor> dot(const Tensor &lhs, const Tensor &rhs, ElementType resultType, Context &context) {
  auto isVectorOrMatrix = [](const Tensor &tensor) {
    return tensor.rank() == 1 || tensor.rank() == 2;
  };
  if (!isVectorOrMatrix(lhs) || !isVectorOrMatrix(rhs))
    return Status(Error::interpretShape,
                  concat("dot: operands must be vectors or matrices, got ", lhs.typeString(),
                         " and ", rhs.typeString(), "; use dot_general for other ranks"));
  DotDimensions dimensions;
  dimensions.lhsContracting = {lhs.rank() - 1};
  dimensions.rhsContracting = {0};
  return dotGeneral(lhs, rhs, dimensions, resultType, context);
}

} // namespace tilewright::interpret
