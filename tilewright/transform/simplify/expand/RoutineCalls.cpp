// Expands calls of LAPACK routines, by the names that JAX gives them: lapack_sgeqrf_ffi for CPUs,
// cusolver_geqrf_ffi for GPUs.
#include "tilewright/transform/simplify/expand/Expand.h"
#include "tilewright/transform/simplify/expand/Routines.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

using enum stablehlo::ComparisonDirection;

/// The routine's name for real elements, without the platform prefix, the type letter and the
/// suffix: orgqr for lapack_zungqr_ffi.
StringRef routineOf(StringRef name) {
  name.consume_back("_ffi");
  if (name.consume_front("lapack_")) {
    name = name.drop_front(std::min<size_t>(1, name.size()));
    return llvm::StringSwitch<StringRef>(name)
        .Case("ungqr", "orgqr")
        .Case("unmqr", "ormqr")
        .Case("heevd", "syevd")
        .Case("hetrd", "sytrd")
        .Default(name);
  }
  // cusolver_, cusparse_, cuhybrid_, cu_, and the prefixes of other vendors.
  name = name.split('_').second;
  return name == "gtsv2" ? "gtsv" : name;
}

/// One call with static shapes: its operands as batches, its options, and the values that replace
/// its results.
class Call {
public:
  Call(stablehlo::CustomCallOp op, RewriterBase &rewriter)
      : op(op), rewriter(rewriter), routine(routineOf(op.getCallTargetName())),
        b(rewriter, op.getLoc(), typeOf(op->getOperand(0)).getElementType()) {
    // JAX writes the dictionary as a discardable attribute.
    config = dyn_cast_if_present<DictionaryAttr>(op.getBackendConfigAttr());
    if (!config)
      config = op->getAttrOfType<DictionaryAttr>("mhlo.backend_config");
  }

  LogicalResult expand();

private:
  struct Known;

  /// Whether an option is set: a boolean, or a letter for LAPACK.
  std::optional<bool> option(StringRef name, StringRef letterName, char letter) {
    if (!config)
      return std::nullopt;
    if (auto given = config.getAs<BoolAttr>(name))
      return given.getValue();
    if (auto given = config.getAs<IntegerAttr>(letterName))
      return given.getValue().getZExtValue() == static_cast<unsigned char>(letter);
    return std::nullopt;
  }
  LogicalResult refuse(const Twine &reason) { return rewriter.notifyMatchFailure(op, reason); }
  Value matrix(unsigned number) { return b.flattened(op->getOperand(number), 2); }
  Value vector(unsigned number) { return b.flattened(op->getOperand(number), 1); }
  int64_t lastSizeOf(unsigned result) { return typeOf(op->getResult(result)).getShape().back(); }

  LogicalResult factor();
  LogicalResult reflect();
  LogicalResult solve();
  LogicalResult triangularSolve();
  LogicalResult eigen();
  LogicalResult singular();
  LogicalResult product();

  stablehlo::CustomCallOp op;
  RewriterBase &rewriter;
  const StringRef routine;
  MatrixBuilder b;
  DictionaryAttr config;
  SmallVector<Value> values; // of the results
};

/// A routine, and the member that expands calls of it.
struct Call::Known {
  StringRef name;
  unsigned operands, results;
  LogicalResult (Call::*expand)();
};

LogicalResult Call::factor() {
  if (routine == "lu_pivots_to_permutation") {
    values = {permutationOf(b, vector(0), lastSizeOf(0))};
  } else if (routine == "getrf") {
    auto [lu, pivots] = factorLu(b, matrix(0));
    values = {lu, pivots, firstOnDiagonal(b, lu, [&](Value value) {
                return b.compare(value, EQ, b.number(typeOf(value), 0));
              })};
  } else if (routine == "cholesky_update") {
    values = {updateCholesky(b, matrix(0), vector(1)), b.zeros(typeOf(vector(1)).getShape())};
  } else {
    std::optional<bool> isLower = option("lower", "uplo", 'L');
    if (!isLower)
      return refuse("it does not say which triangle is factored");
    auto cholesky = stablehlo::CholeskyOp::create(
        rewriter, op.getLoc(), op->getOperand(0).getType(), op->getOperand(0), *isLower);
    // If a pivot is not positive, its square root is NaN or zero.
    values = {cholesky, firstOnDiagonal(b, b.flattened(cholesky, 2), [&](Value value) {
                return b.either(b.compare(value, NE, value),
                                b.compare(value, EQ, b.number(typeOf(value), 0)));
              })};
  }
  return success();
}

LogicalResult Call::reflect() {
  if (routine == "geqrf") {
    auto [r, taus] = factorQr(b, matrix(0));
    values = {r, taus};
  } else if (routine == "geqp3") {
    auto [r, pivots, taus] = factorPivotedQr(b, matrix(0), vector(1));
    values = {r, pivots, taus};
  } else if (routine == "orgqr") {
    values = {productOfReflectors(b, matrix(0), vector(1), lastSizeOf(0))};
  } else if (routine == "ormqr") {
    std::optional<bool> isLeft = option("left", "side", 'L');
    std::optional<bool> isAdjoint = option("transpose", "trans", b.isComplex() ? 'C' : 'T');
    if (!isLeft || !isAdjoint)
      return refuse("it does not say from which side the reflectors are multiplied");
    values = {multiplyByReflectors(b, matrix(0), vector(1), matrix(2), *isLeft, *isAdjoint)};
  } else if (routine == "gehrd") {
    const int64_t n = typeOf(op->getOperand(0)).getShape().back();
    auto low = config ? config.getAs<IntegerAttr>("low") : IntegerAttr();
    auto high = config ? config.getAs<IntegerAttr>("high") : IntegerAttr();
    if ((low && low.getInt() != 1) || (high && high.getInt() != n))
      return refuse("only a part of the matrix is reduced");
    auto [hessenberg, taus] = reduceToHessenberg(b, matrix(0));
    values = {hessenberg, taus, b.integer(b.numbers({typeOf(hessenberg).getDimSize(0)}), 0)};
  } else {
    std::optional<bool> isLower = option("lower", "uplo", 'L');
    if (!isLower)
      return refuse("it does not say which triangle is reduced");
    auto [all, main, beside, taus] = reduceToTridiagonal(b, matrix(0), *isLower);
    values = {all, main, beside, taus, b.integer(b.numbers({typeOf(all).getDimSize(0)}), 0)};
  }
  return success();
}

LogicalResult Call::solve() {
  values = solveTridiagonal(b, vector(0), vector(1), vector(2), matrix(3));
  if (op->getNumResults() == 1)
    values = {values[3]};
  return success();
}

LogicalResult Call::triangularSolve() {
  std::optional<bool> isLeft = option("left", "side", 'L'), isLower = option("lower", "uplo", 'L');
  std::optional<bool> isUnit = option("unit", "diag", 'U');
  std::optional<bool> isPlain = option("plain", "trans_x", 'N');
  std::optional<bool> isAdjoint = option("adjoint", "trans_x", 'C');
  if (!isLeft || !isLower || !isUnit || !isPlain || !isAdjoint)
    return refuse("it does not say which triangle is solved");
  using stablehlo::Transpose;
  const Transpose transpose = *isPlain     ? Transpose::NO_TRANSPOSE
                              : *isAdjoint ? Transpose::ADJOINT
                                           : Transpose::TRANSPOSE;
  values = {stablehlo::TriangularSolveOp::create(rewriter, op.getLoc(), op->getResult(0).getType(),
                                                 op->getOperand(0), op->getOperand(1), *isLeft,
                                                 *isLower, *isUnit, transpose)};
  return success();
}

LogicalResult Call::eigen() {
  std::optional<bool> isLower = option("lower", "uplo", 'L');
  if (!isLower)
    return refuse("it does not say which triangle is read");
  auto [vectors, eigenvalues, info] = findEigen(b, matrix(0), *isLower);
  values = {vectors, eigenvalues, info};
  return success();
}

LogicalResult Call::singular() {
  const bool hasNoVectors = option("", "mode", 'N').value_or(false);
  const bool hasVectors = option("compute_uv", "", 0).value_or(!hasNoVectors);
  // The GPU routines that use matrix products return the right vectors as columns.
  const bool isAdjoint = routine == "gesvdj" || routine == "gesvdp";
  const bool isTransposed = option("transposed", "", 0).value_or(false);
  const ArrayRef<int64_t> shape = typeOf(op->getOperand(0)).getShape();
  const int64_t m = shape[shape.size() - 2], n = shape.back();
  // A complete basis has as many vectors as each vector has elements.
  const unsigned left = isTransposed ? 3 : 2, right = isTransposed ? 2 : 3;
  bool isFull = false;
  if (hasVectors) {
    const ArrayRef<int64_t> rows = typeOf(op->getResult(right)).getShape();
    isFull =
        m >= n ? lastSizeOf(left) == m : (isAdjoint ? rows.back() : rows[rows.size() - 2]) == n;
  }
  Singular found = findSingular(b, matrix(0), hasVectors, isFull);
  values = {op->getOperand(0), found.values, found.left, found.right, found.info};
  if (!hasVectors)
    for (unsigned number : {2u, 3u})
      values[number] = b.number(typeOf(op->getResult(number)), 0);
  else if (isAdjoint)
    values[3] = b.adjoint(found.right);
  else if (isTransposed)
    std::swap(values[2], values[3]);
  return success();
}

LogicalResult Call::product() {
  std::optional<bool> isTransposed = option("transpose", "", 0);
  if (!isTransposed)
    return refuse("it does not say which product is computed");
  Value a = matrix(0), other = b.transpose(a, {0, 2, 1});
  Value product = *isTransposed ? b.batchedDot(other, a) : b.batchedDot(a, other);
  const SmallVector<int64_t> shape(typeOf(product).getShape());
  Value alpha = b.broadcast(op->getOperand(2), shape), beta = b.broadcast(op->getOperand(3), shape);
  values = {b.add(b.multiply(alpha, product), b.multiply(beta, matrix(1)))};
  return success();
}

LogicalResult Call::expand() {
  static constexpr Known knownRoutines[] = {{"potrf", 1, 2, &Call::factor},
                                            {"getrf", 1, 3, &Call::factor},
                                            {"lu_pivots_to_permutation", 1, 1, &Call::factor},
                                            {"cholesky_update", 2, 2, &Call::factor},
                                            {"geqrf", 1, 2, &Call::reflect},
                                            {"geqp3", 2, 3, &Call::reflect},
                                            {"orgqr", 2, 1, &Call::reflect},
                                            {"ormqr", 3, 1, &Call::reflect},
                                            {"gehrd", 1, 3, &Call::reflect},
                                            {"sytrd", 1, 5, &Call::reflect},
                                            {"gtsv", 4, 5, &Call::solve},
                                            {"gtsv", 4, 1, &Call::solve},
                                            {"trsm", 2, 1, &Call::triangularSolve},
                                            {"syrk", 4, 1, &Call::product},
                                            {"syevd", 1, 3, &Call::eigen},
                                            {"gesdd", 1, 5, &Call::singular},
                                            {"gesvd", 1, 5, &Call::singular},
                                            {"gesvdj", 1, 5, &Call::singular},
                                            {"gesvdp", 1, 5, &Call::singular}};
  const Known *known = llvm::find_if(knownRoutines, [&](const Known &each) {
    return each.name == routine && each.operands == op->getNumOperands() &&
           each.results == op->getNumResults();
  });
  if (known == std::end(knownRoutines))
    return refuse("it is not a known routine");
  auto isEmpty = [](Value value) { return typeOf(value).getNumElements() == 0; };
  if (llvm::any_of(op->getOperands(), isEmpty)) {
    // Nothing was rotated or reflected, and no error occurred.
    for (Value result : op->getResults())
      values.push_back(b.number(typeOf(result), 0));
    if (routine == "ormqr")
      values = {op->getOperand(2)};
  } else if (failed((this->*known->expand)())) {
    return failure();
  }
  Operation *made = values.front().getDefiningOp();
  for (auto [value, result] : llvm::zip_equal(values, op->getResults()))
    value = b.reshape(value, typeOf(result).getShape());
  rewriter.replaceOp(op, values);
  // The call is replaced, whether or not these ops of the dialect are expanded, too.
  if (auto cholesky = dyn_cast_if_present<stablehlo::CholeskyOp>(made)) {
    rewriter.setInsertionPoint(cholesky);
    (void)expandCholesky(cholesky, rewriter);
  } else if (auto solve = dyn_cast_if_present<stablehlo::TriangularSolveOp>(made)) {
    rewriter.setInsertionPoint(solve);
    (void)expandTriangularSolve(solve, rewriter);
  }
  return success();
}

} // namespace

LogicalResult expandRoutineCall(stablehlo::CustomCallOp op, RewriterBase &rewriter) {
  if (op->getNumOperands() == 0 || !llvm::all_of(op->getOperands(), isStatic) ||
      !llvm::all_of(op->getResults(), isStatic))
    return rewriter.notifyMatchFailure(op, "it has no operands, or a shape is dynamic");
  return Call(op, rewriter).expand();
}

} // namespace tilewright::simplify
