// sourceOf(): where in the user's program an operation comes from, as text.
#ifndef TILEWRIGHT_IMPORT_SOURCETRAIL_H
#define TILEWRIGHT_IMPORT_SOURCETRAIL_H

#include "mlir/IR/Location.h"

#include <string>

namespace tilewright {

/// "train.py:41:8 (jit(step)/dot_general)": the innermost file of a location and the name nearest
/// to it, as far as they are known; empty if neither is known.
std::string sourceOf(mlir::Location location);

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_SOURCETRAIL_H
