// Reference: what a collective gives, element by element, and ranks' tensors to try it on.
#ifndef TILEWRIGHT_COLLECTIVE_CONFORMANCE_REFERENCE_H
#define TILEWRIGHT_COLLECTIVE_CONFORMANCE_REFERENCE_H

#include "tilewright/collective/conformance/Kit.h"

namespace tilewright::collective::conformance {

using Groups = std::vector<std::vector<int64_t>>;
using Dims = std::vector<int64_t>;
using Bytes = std::vector<std::byte>;

/// One collective to try, as all ranks call it.
struct Case {
  Kind kind = Kind::allReduce;
  ElementType element = ElementType::f32;
  Dims dims; // of the operand
  Groups groups;
  std::string_view operation = "add";
  int64_t dimension = 0, splitDimension = 0;
  bool isInPlace = false;
  size_t tensors = 1;

  std::string text() const;
};

int64_t elements(const Dims &dims);

/// An operand that every rank can compute for every other: numbers that look random, with sums
/// that depend on their order.
Bytes operandOf(const Case &test, int64_t rank, size_t tensor);

/// The members of `rank`'s group in its order; empty if it has none.
std::vector<int64_t> groupOf(const Case &test, int64_t rank, int64_t ranks);

Dims resultDims(const Case &test, int64_t members);

/// What rank `rank` must get, by StableHLO's definition, one element after the other.
Bytes expected(const Case &test, int64_t rank, int64_t ranks, size_t tensor);

/// A case as one rank meets it.
class Trial {
public:
  Trial(const Case &test, int64_t rank, int64_t ranks);
  /// Runs it and compares bit by bit. `allocate` gives memory, or null for the heap's.
  Status run(Communicator &communicator,
             const std::function<std::byte *(size_t)> &allocate = {}) const;

private:
  const Case &test;
  const int64_t rank, ranks;
  std::vector<Bytes> operands, results; // by tensor
};

} // namespace tilewright::collective::conformance

#endif // TILEWRIGHT_COLLECTIVE_CONFORMANCE_REFERENCE_H
