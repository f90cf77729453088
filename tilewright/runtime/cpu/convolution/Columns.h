// Columns: implicit im2col. Forms rows of the image matrix while packing and never stores the
// matrix.
#ifndef TILEWRIGHT_RUNTIME_CPU_CONVOLUTION_COLUMNS_H
#define TILEWRIGHT_RUNTIME_CPU_CONVOLUTION_COLUMNS_H

#include "tilewright/runtime/cpu/convolution/Window.h"
#include "tilewright/runtime/cpu/matmul/Matmul.h"

namespace tilewright::runtime::cpu {

/// The im2col matrix: a line is a position of the window, and the summed dimension runs over the
/// input elements under the window. A prologue of Matmul produces parts of the matrix; its
/// `buffers` are the input and this object.
class Columns {
public:
  /// A dimension of the lines or of the sum.
  struct Dimension {
    static constexpr int64_t notSpatial = -1;
    int64_t size = 1;
    int64_t axis = notSpatial; // index of a spatial dimension, or notSpatial for images or features
    int64_t inputStride = 0;   // of images, features or groups
  };

  std::vector<Axis> axes;
  Dims axisStrides; // of the input
  /// The dimensions of the batch, and of the lines of one product, outermost first.
  std::vector<Dimension> batch, lines;
  /// The summed dimensions, outermost first. If `isFeatureInnermost`: spatial dimensions in order
  /// and then features, which are contiguous in the input.
  std::vector<Dimension> summed;
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
