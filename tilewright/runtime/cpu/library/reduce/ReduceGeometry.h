// ReduceGeometry: the loops of a reduction over kept and reduced dimensions.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_REDUCE_REDUCEGEOMETRY_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_REDUCE_REDUCEGEOMETRY_H

#include "tilewright/runtime/cpu/library/CallReader.h"

namespace tilewright::runtime::cpu {

/// A dimension, with its stride in elements.
struct LoopDim {
  int64_t size, stride;
};

/// The offset of element `linear` of a box.
inline int64_t offsetOf(std::span<const LoopDim> dims, int64_t linear) {
  int64_t offset = 0;
  for (size_t i = dims.size(); i-- > 0;) {
    offset += linear % dims[i].size * dims[i].stride;
    linear /= dims[i].size;
  }
  return offset;
}

/// Computes offsetOf() of consecutive elements without divisions.
class OffsetWalk {
public:
  OffsetWalk(std::span<const LoopDim> dims, int64_t begin)
      : dims(dims), position(dims.size()), current(offsetOf(dims, begin)) {
    for (size_t i = dims.size(); i-- > 0;) {
      position[i] = begin % dims[i].size;
      begin /= dims[i].size;
    }
  }
  int64_t offset() const { return current; }
  void next() {
    for (size_t i = dims.size(); i-- > 0;) {
      current += dims[i].stride;
      if (++position[i] < dims[i].size)
        return;
      current -= dims[i].size * dims[i].stride;
      position[i] = 0;
    }
  }

private:
  std::span<const LoopDim> dims;
  std::vector<int64_t> position;
  int64_t current;
};

/// The dimensions of a reduction, with adjacent dimensions of the same kind collapsed. The last one
/// is contiguous: it is either reduced or kept (columns).
struct ReduceGeometry {
  std::vector<LoopDim> kept, reduced; // without the last one
  bool lastIsReduced = false;
  int64_t last = 1;         // size of the last dimension
  int64_t outputs = 1;      // elements of the result
  int64_t reducedCount = 1; // elements that are reduced to one
  int64_t keptCount = 1;    // product of `kept`
  int64_t reducedLoops = 1; // product of `reduced`

  ReduceGeometry(const Shape &shape, std::span<const int64_t> dimensions);
};

/// Checks that there are operands (inputs, then init values) for the results.
Status checkInputCount(const CallReader &reader);
/// Checks that inputs have the same shape, that init values are scalars, and that the results have
/// these sizes.
Status checkInputs(const CallReader &reader, const Dims &resultDims);

/// Checks the dimensions, operands (inputs, then init values) and results. Returns the geometry of
/// the inputs.
Result<ReduceGeometry> reduceGeometryOf(const CallReader &reader,
                                        std::span<const int64_t> dimensions);

/// Elements per piece of a long reduction. Pieces do not depend on the number of threads, so
/// neither do results.
constexpr int64_t reducePiece = 1 << 16;

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_REDUCE_REDUCEGEOMETRY_H
