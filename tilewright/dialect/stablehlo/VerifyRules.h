// Rules that the constraints of many ops share: shapes that agree, lists of
// dimensions, windows, and computations held in regions.
//
// Verifiers run on files of strangers. Nothing here multiplies without a check,
// reads an element of a list before its length is known, or walks a splat.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_VERIFYRULES_H
#define TILEWRIGHT_DIALECT_STABLEHLO_VERIFYRULES_H

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

/// Writes sizes as a person does: "[2, ?, 4]".
std::string shapeText(llvm::ArrayRef<int64_t> sizes);

/// The integers that `value` is known to hold, of its very type; null if it is
/// no such constant. Safe before the constant itself has been verified.
mlir::DenseIntElementsAttr knownIntegers(mlir::Value value);

//===- Lists of dimensions ------------------------------------------------===//

/// Checks that each entry of `dims` is a dimension of `what`, which has `rank`.
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

/// How often `window` fits into an input of `inputSize`; dynamic if that is.
/// Nothing if a size on the way exceeds 63 bits. Sizes, strides and dilations
/// are at least 1.
std::optional<int64_t> countWindows(int64_t inputSize, const Window &window);

/// The `[rank, 2]` entries of a padding attribute whose shape was checked.
llvm::SmallVector<int64_t> paddingEntries(mlir::DenseIntElementsAttr padding);

/// Checks that `padding`, if present, has one row of two for each dimension.
mlir::LogicalResult verifyPaddingShape(mlir::Operation *op, mlir::DenseIntElementsAttr padding,
                                       int64_t rank);

//===- Regions ------------------------------------------------------------===//

/// The types that a region of one block returns. To be called from a region
/// verifier, when the terminator is known to be there.
mlir::TypeRange returnedTypes(mlir::Region &region);

/// Checks a computation that combines two sets of N scalars into one: 2N
/// arguments and N results of types tensor<Ei>, where element i of `inputs` is
/// promotable to Ei. Gives the Ei.
mlir::FailureOr<llvm::SmallVector<mlir::Type>> verifyReducer(mlir::Operation *op,
                                                             llvm::StringRef name,
                                                             mlir::Region &region,
                                                             mlir::TypeRange inputs);

/// Checks that `results` have the element types that a computation gives.
mlir::LogicalResult verifyResultElements(mlir::Operation *op, mlir::TypeRange results,
                                         llvm::ArrayRef<mlir::Type> elements);

/// Checks that a region takes arguments of types `expected`.
mlir::LogicalResult verifyArguments(mlir::Operation *op, llvm::StringRef name, mlir::Region &region,
                                    mlir::TypeRange expected);

/// Checks that a region returns values of types `expected`.
mlir::LogicalResult verifyReturned(mlir::Operation *op, llvm::StringRef name, mlir::Region &region,
                                   mlir::TypeRange expected);

} // namespace tilewright::stablehlo

#endif // TILEWRIGHT_DIALECT_STABLEHLO_VERIFYRULES_H
