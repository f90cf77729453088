// The lines and ops of the user's program that a step computes, as text for profiles.
#ifndef TILEWRIGHT_DRIVER_SOURCES_H
#define TILEWRIGHT_DRIVER_SOURCES_H

#include "mlir/IR/Location.h"

#include <string>

namespace tilewright::driver {

/// "model.py:6 jit(f)/mul, jit(f)/add; model.py:11 jit(f)/reduce_sum": every line of a location
/// with the names of its ops, each once, in the order of the location. Of a call, the innermost
/// line.
std::string sourcesOf(mlir::Location location);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_SOURCES_H
