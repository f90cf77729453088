// Columns: images as the rows of a matrix, made while they are packed and never stored.
#ifndef TILEWRIGHT_RUNTIME_CPU_CONVOLUTION_COLUMNS_H
#define TILEWRIGHT_RUNTIME_CPU_CONVOLUTION_COLUMNS_H

#include "tilewright/runtime/cpu/convolution/Window.h"
#include "tilewright/runtime/cpu/matmul/Matmul.h"

namespace tilewright::runtime::cpu {

/// The matrix whose lines are positions of the window and whose summed side are the elements under
/// it. A prologue of Matmul makes parts of it: `buffers` are the input and this object.
class Columns {
public:
  /// A dimension along the lines or along the sum.
  struct Side {
    static constexpr int64_t notSpatial = -1;
    int64_t size = 1;
    int64_t axis = notSpatial; // a spatial dimension, else images or features
    int64_t inputStride = 0;   // of images, features or groups
  };

  std::vector<Axis> axes;
  Dims axisStrides; // of the input
  /// Products of a batch, then lines of a product, outermost first.
  std::vector<Side> batch, lines;
  /// Along the sum, outermost first. If `isFeatureInnermost`, spatial dimensions in order and then
  /// features, which lie side by side in the input.
  std::vector<Side> summed;
  bool isFeatureInnermost = false;
  int64_t elementBytes = 4;

  int64_t lineCount() const;
  Prologue prologue(void *const *buffers) const;

private:
  static void make(void *const *buffers, int64_t lineBegin, int64_t lineEnd, int64_t summedBegin,
                   int64_t summedEnd, void *tile, int64_t tileStride);
  template <typename T>
  void makeLines(const T *input, int64_t lineBegin, int64_t lineEnd, int64_t summedBegin,
                 int64_t summedEnd, T *tile, int64_t tileStride) const;
  template <typename T>
  void makeSummed(const T *input, int64_t lineBegin, int64_t lineEnd, int64_t summedBegin,
                  int64_t summedEnd, T *tile, int64_t tileStride) const;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_CONVOLUTION_COLUMNS_H
