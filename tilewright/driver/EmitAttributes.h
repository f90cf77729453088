// Configurations of library kernels and custom calls, as the runtime reads them.
#ifndef TILEWRIGHT_DRIVER_EMITATTRIBUTES_H
#define TILEWRIGHT_DRIVER_EMITATTRIBUTES_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace tilewright::driver {

/// Strings, numbers, arrays of numbers and dictionaries of these, typed as they are.
///  - planAttribute: a value is of another kind.
Result<std::vector<artifact::Attribute>> toAttributes(mlir::DictionaryAttr dictionary);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_EMITATTRIBUTES_H
