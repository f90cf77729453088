// Rules that the constraints of many ops share: shapes that agree, lists of dimensions, windows,
// and computations held in regions.
//
// Verifiers run on untrusted files. Nothing here multiplies without an overflow check, reads a list
// element before the length is checked, or iterates over a splat.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_VERIFY_VERIFYRULES_H
#define TILEWRIGHT_DIALECT_STABLEHLO_VERIFY_VERIFYRULES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace tilewright::stablehlo {

//===- Types that agree ---------------------------------------------------===//

/// Whether two sizes can be equal at run time: a dynamic size agrees with any.
bool sizesAgree(int64_t left, int64_t right);

/// Whether two shapes have the same rank and sizes that agree.
bool shapesAgree(llvm::ArrayRef<int64_t> left, llvm::ArrayRef<int64_t> right);

/// Whether two tensor types have the same element type and shapes that agree;
/// any other two types agree if they are equal.
bool typesAgree(mlir::Type left, mlir::Type right);
bool typesAgree(mlir::TypeRange left, mlir::TypeRange right);

/// Whether values of element type `from` can be accumulated in `to`: the same
/// kind of number, and not narrower (`is_promotable` of the specification).
bool isPromotable(mlir::Type from, mlir::Type to);

/// The shape of a ranked tensor type; empty for anything else.
llvm::ArrayRef<int64_t> shapeOf(mlir::Type type);

/// The element type of a tensor type; the type itself for anything else.
mlir::Type elementOf(mlir::Type type);

/// Formats sizes: "[2, ?, 4]".
std::string shapeText(llvm::ArrayRef<int64_t> sizes);

/// The integers of `value` if it is a constant whose attribute has exactly the type of `value`;
/// otherwise null. Safe to call before the constant itself has been verified.
mlir::DenseIntElementsAttr knownIntegers(mlir::Value value);

//===- Lists of dimensions ------------------------------------------------===//

/// Checks that each entry of `dims` is a dimension of `what`, a tensor of rank `rank`.
mlir::LogicalResult verifyInRange(mlir::Operation *op, llvm::StringRef name,
                                  llvm::ArrayRef<int64_t> dims, llvm::StringRef what, int64_t rank);

/// Checks that no number occurs twice in `dims`, or in `dims` and `more`.
mlir::LogicalResult verifyUnique(mlir::Operation *op, llvm::StringRef name,
                                 llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> more = {});

/// Checks that `dims` never decreases.
mlir::LogicalResult verifySorted(mlir::Operation *op, llvm::StringRef name,
                                 llvm::ArrayRef<int64_t> dims);

/// Checks that a list has one entry for each dimension of `what`.
mlir::LogicalResult verifyOnePerDimension(mlir::Operation *op, llvm::StringRef name, int64_t size,
                                          llvm::StringRef what, int64_t rank);

/// Checks that each entry of `sizes` is at least 1.
mlir::LogicalResult verifyPositive(mlir::Operation *op, llvm::StringRef name,
                                   llvm::ArrayRef<int64_t> sizes);

//===- Windows ------------------------------------------------------------===//

/// A window that slides along one dimension.
struct Window {
  int64_t size = 1, stride = 1;
  int64_t lowPadding = 0, highPadding = 0;
  int64_t baseDilation = 1, windowDilation = 1;
};

/// The number of positions of `window` in an input of `inputSize`; dynamic if `inputSize` is.
/// nullopt if an intermediate size exceeds 63 bits. Sizes, strides and dilations must be at least
/// 1.
std::optional<int64_t> countWindows(int64_t inputSize, const Window &window);

/// The `[rank, 2]` entries of a padding attribute whose shape was checked.
llvm::SmallVector<int64_t> paddingEntries(mlir::DenseIntElementsAttr padding);

/// Checks that `padding`, if present, has one row of two entries for each dimension.
mlir::LogicalResult verifyPaddingShape(mlir::Operation *op, mlir::DenseIntElementsAttr padding,
                                       int64_t rank);

//===- Regions ------------------------------------------------------------===//

/// The types that a single-block region returns. Call it only from a region verifier, when the
/// terminator is known to exist.
mlir::TypeRange returnedTypes(mlir::Region &region);

/// Checks a computation that combines two sets of N scalars into one: 2N arguments and N results of
/// types tensor<Ei>, where element i of `inputs` is promotable to Ei. Returns the Ei.
mlir::FailureOr<llvm::SmallVector<mlir::Type>> verifyReducer(mlir::Operation *op,
                                                             llvm::StringRef name,
                                                             mlir::Region &region,
                                                             mlir::TypeRange inputs);

/// Checks that `results` have the element types that a computation returns.
mlir::LogicalResult verifyResultElements(mlir::Operation *op, mlir::TypeRange results,
                                         llvm::ArrayRef<mlir::Type> elements);

/// Checks that a region takes arguments of types `expected`.
mlir::LogicalResult verifyArguments(mlir::Operation *op, llvm::StringRef name, mlir::Region &region,
                                    mlir::TypeRange expected);

/// Checks that a region returns values of types `expected`.
mlir::LogicalResult verifyReturned(mlir::Operation *op, llvm::StringRef name, mlir::Region &region,
                                   mlir::TypeRange expected);

} // namespace tilewright::stablehlo

#endif // TILEWRIGHT_DIALECT_STABLEHLO_VERIFY_VERIFYRULES_H
