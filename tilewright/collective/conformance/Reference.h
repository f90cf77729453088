// Reference: computes collectives element by element, and generates operands to test them with.
#ifndef TILEWRIGHT_COLLECTIVE_CONFORMANCE_REFERENCE_H
#define TILEWRIGHT_COLLECTIVE_CONFORMANCE_REFERENCE_H

#include "tilewright/collective/conformance/Kit.h"

namespace tilewright::collective::conformance {

using Groups = std::vector<std::vector<int64_t>>;
using Dims = std::vector<int64_t>;
using Bytes = std::vector<std::byte>;

/// One collective to test, with the parameters that all ranks share.
struct Case {
  Kind kind = Kind::allReduce;
  ElementType element = ElementType::f32;
  Dims dims; // of the operand
  Groups groups;
  ReductionKind operation = ReductionKind::add;
  int64_t dimension = 0, splitDimension = 0;
  bool isInPlace = false;
  size_t tensors = 1;

  std::string text() const;
};

int64_t elements(const Dims &dims);

/// An operand that every rank can compute for every other rank: pseudo-random numbers whose sums
/// depend on their order.
Bytes operandOf(const Case &test, int64_t rank, size_t tensor);

/// The members of `rank`'s group, in order; empty if the rank is in no group.
std::vector<int64_t> groupOf(const Case &test, int64_t rank, int64_t ranks);

Dims resultDims(const Case &test, int64_t members);

/// The expected result of `rank` by StableHLO's definition, computed element by element.
Bytes expected(const Case &test, int64_t rank, int64_t ranks, size_t tensor);

/// One rank's execution of a case.
class Trial {
public:
  Trial(const Case &test, int64_t rank, int64_t ranks);
  /// Runs the case and compares bit by bit. `allocate` returns memory, or null to use the heap.
  Status run(Communicator &communicator,
             const std::function<std::byte *(size_t)> &allocate = {}) const;

private:
  const Case &test;
  const int64_t rank, ranks;
  std::vector<Bytes> operands, results; // by tensor
};

/// One rank's execution of a ragged_all_to_all of rows of `width` integers: member a of a group
/// sends (a + b) * scale rows to member b. Fails if a row is wrong, or one that no rank sends is
/// overwritten.
Status tryRaggedRows(const Groups &groups, int64_t width, int64_t scale, Communicator &rank);

} // namespace tilewright::collective::conformance

#endif // TILEWRIGHT_COLLECTIVE_CONFORMANCE_REFERENCE_H
