// Reduction: how a collective combines two tensors, element by element.
#ifndef TILEWRIGHT_COLLECTIVE_REDUCTION_H
#define TILEWRIGHT_COLLECTIVE_REDUCTION_H

#include "tilewright/numerics/ElementType.h"
#include "tilewright/support/Status.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace tilewright::collective {

/// into[i] = into[i] op from[i] for `count` elements.
using Combine = void (*)(std::byte *into, const std::byte *from, size_t count);

/// A scalar function that a compiler generated: one pointer for each argument and result, the
/// arguments being the accumulated values of all tensors, then the new ones.
using Body = void (*)(const void *const *args, void *const *results);

/// One of the operations that every engine knows, or a function. A function
/// sees all tensors of a call together, an operation each on its own.
struct Reduction {
  std::string_view operation; // "add", "multiply", "maximum", "minimum", "and", "or", "xor"
  Body body = nullptr;        // used if `operation` is empty or "function"
  bool isBody() const { return body && (operation.empty() || operation == "function"); }
};

/// The loop for an operation on a type, with StableHLO's meaning: max and min keep NaN, small
/// floats round after each step. Null if it has none (max of complex numbers).
Combine combineFor(std::string_view operation, numerics::ElementType type);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_REDUCTION_H
