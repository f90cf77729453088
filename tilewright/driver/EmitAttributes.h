// Attributes of custom calls, in the runtime's form.
#ifndef TILEWRIGHT_DRIVER_EMITATTRIBUTES_H
#define TILEWRIGHT_DRIVER_EMITATTRIBUTES_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace tilewright::driver {

/// Converts strings, numbers, arrays of numbers and dictionaries of these, with their types.
///  - planAttribute: a value has another type.
Result<std::vector<artifact::Attribute>> toAttributes(mlir::DictionaryAttr dictionary);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_EMITATTRIBUTES_H
