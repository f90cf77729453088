// Library calls, in the runtime's form.
#ifndef TILEWRIGHT_DRIVER_EMITLIBRARY_H
#define TILEWRIGHT_DRIVER_EMITLIBRARY_H

#include "tilewright/artifact/LibraryCalls.h"
#include "tilewright/dialect/exec/LibraryOps.h"

namespace tilewright::driver {

/// The struct of a library call, with the op's attributes as fields.
artifact::LibraryCall libraryCallOf(exec::LibraryCallOpInterface op);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_EMITLIBRARY_H
