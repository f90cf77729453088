// Reduction: how a collective combines two tensors, element by element.
#ifndef TILEWRIGHT_COLLECTIVE_REDUCTION_H
#define TILEWRIGHT_COLLECTIVE_REDUCTION_H

#include "tilewright/numerics/Collective.h"
#include "tilewright/numerics/ElementType.h"
#include "tilewright/support/Status.h"

#include <cstddef>
#include <optional>

namespace tilewright::collective {

using numerics::ReductionKind;

/// into[i] = into[i] op from[i] for `count` elements.
using Combine = void (*)(std::byte *into, const std::byte *from, size_t count);

/// A compiler-generated scalar reduction function. It takes one pointer for each argument and
/// result; the arguments are the accumulated values of all tensors, then their new values.
using Body = void (*)(const void *const *args, void *const *results);

/// A predefined operation or a function. A function combines the elements of all tensors of a call
/// together; an operation combines each tensor separately.
struct Reduction {
  ReductionKind operation = ReductionKind::none;
  Body body = nullptr; // used if `operation` is none or function
  bool isBody() const {
    return body && (operation == ReductionKind::none || operation == ReductionKind::function);
  }
};

/// The loop for an operation on an element type, with StableHLO's semantics: max and min propagate
/// NaN, small floats round after each step. Null if the operation is not defined for the type (max
/// of complex numbers).
Combine combineFor(ReductionKind operation, numerics::ElementType type);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_REDUCTION_H
