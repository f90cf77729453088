// Fragments of matrix instructions, from shared memory to registers.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_FRAGMENTS_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_FRAGMENTS_H

#include "tilewright/target/nvptx/lower/OpGroup.h"
#include "llvm/ADT/DenseSet.h"

namespace tilewright::nvptx {

/// Loads fragments by ldmatrix, or word by word.
class FragmentsLowering : public OpGroup {
public:
  explicit FragmentsLowering(KernelLowering &all) : OpGroup(all) {}

  void load(sm::CopyOp copy);
  /// Whether a tile consists of words of 32 bits, each with the elements of several registers, as
  /// matrix instructions take them.
  bool isInWords(Value tile) const { return wordTiles.contains(tile); }
  void markInWords(Value tile) { wordTiles.insert(tile); }
  /// Unpacks words into elements, for ops that do not support packed words.
  void unpackWords(Value tile);

private:
  struct FragmentLoad;
  llvm::DenseSet<Value> wordTiles;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_FRAGMENTS_H
