// Where in the user's program an operation comes from, read from its location.
#ifndef TILEWRIGHT_DIALECT_SOURCE_SOURCE_H
#define TILEWRIGHT_DIALECT_SOURCE_SOURCE_H

#include "mlir/IR/Location.h"

#include <string>

/// A location may contain several lines (a call, a fusion of ops); its first line is the innermost
/// frame of its first op. These functions take any location that an artifact may contain: nested
/// arbitrarily deep, or fused from parts that share parts.
namespace tilewright::source {

/// The first line; null if there is none.
mlir::FileLineColLoc lineOf(mlir::Location location);

/// "step.mlir:7:10", the first line as text, or "".
std::string placeOf(mlir::Location location);

/// "train.py:41:8 (jit(step)/dot_general)": the first line and the name nearest to it, as far as
/// they are known.
std::string placeAndNameOf(mlir::Location location);

/// "model.py:6 jit(f)/mul, jit(f)/add; model.py:11 jit(f)/reduce_sum": the first line of every op
/// that was fused, with the names of its ops, each once.
std::string opsOf(mlir::Location location);

} // namespace tilewright::source

#endif // TILEWRIGHT_DIALECT_SOURCE_SOURCE_H
