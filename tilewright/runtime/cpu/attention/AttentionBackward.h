// AttentionBackward: the gradients of attention, without storing a value for each pair of query and
// key.
#ifndef TILEWRIGHT_RUNTIME_CPU_ATTENTION_ATTENTIONBACKWARD_H
#define TILEWRIGHT_RUNTIME_CPU_ATTENTION_ATTENTIONBACKWARD_H

#include "tilewright/runtime/cpu/attention/Attention.h"

namespace tilewright::runtime::cpu {

/// The generated code between the products of the backward pass. This is the ABI of generated code;
/// `buffers`, rows and columns are those of ScoreFunction.
struct GradientFunction {
  /// `products` has the products of queries and keys, `cotangents` those of the cotangent and the
  /// values, row-major with `stride` elements from row to row; rowDots[r] is the product of row r
  /// of the cotangent and of the result. Writes with the same stride, rounded to their types:
  ///
  ///   weights[r, c]   = the weight of the element, recomputed
  ///   gradients[r, c] = the gradient by the product of query and key
  ///
  /// `weights` may be `products`, and `gradients` `cotangents`, if the types are f32.
  using Compute = void (*)(void *const *buffers, int64_t rowBegin, int64_t rowEnd,
                           int64_t columnBegin, int64_t columnEnd, const float *products,
                           const float *cotangents, int64_t stride, const float *rowDots,
                           void *weights, void *gradients);
  Compute compute = nullptr;
  /// Whether all weights and gradients of a block are 0; null if this is unknown.
  ScoreFunction::IsMasked isMasked = nullptr;
};

/// A tensor that `AttentionBackward` reads or writes: type, and strides of rows and columns.
struct MatrixLayout {
  ElementType type = ElementType::f32;
  Placement rows, columns;
};

/// For each head, with weights and gradients computed by generated code from the products
/// queries * keys and cotangent * values:
///
///   ofQueries[m, d] = sum over k of gradients[m, k] * keys[k, d]
///   ofKeys[k, d]    = sum over m of gradients[m, k] * queries[m, d]
///   ofValues[k, n]  = sum over m of weights[m, k] * cotangent[m, n]
struct BackwardProblem {
  /// Operands, the result and the inputs of generated code. `maskedScore` is not used.
  AttentionProblem forward;
  /// The type to which gradients are rounded before the products with them.
  ElementType gradientType = ElementType::f32;
  MatrixLayout cotangent, ofQueries, ofKeys, ofValues;

  /// The strides of the gradients along the dimensions of forward.heads. Gradients of keys and
  /// values are summed over the dimensions that are `isSummed`.
  struct Head {
    int64_t cotangentStride = 0, ofQueriesStride = 0, ofKeysStride = 0, ofValuesStride = 0;
    bool isSummed = false;
  };
  std::vector<Head> heads;

  /// Dense matrices, as AttentionProblem::dense().
  static BackwardProblem dense(ElementType type, int64_t heads, int64_t queries, int64_t keys,
                               int64_t depth, int64_t width);
};

struct BackwardOperands {
  const void *queries = nullptr, *keys = nullptr, *values = nullptr, *cotangent = nullptr,
             *result = nullptr;
  /// Null for a gradient that is not wanted.
  void *ofQueries = nullptr, *ofKeys = nullptr, *ofValues = nullptr;
  std::vector<void *> inputs = {};
};

/// The backward pass whose kernels have been chosen. A thread takes all blocks of a head (and of
/// those with which it shares keys), each block once: five products. If there are too few heads for
/// the threads, it takes a block of keys or a block of queries instead, which computes the first
/// two products twice. Sums over blocks have the same order in both cases, so the result does not
/// depend on the number of threads. Several threads may call `run` concurrently.
class AttentionBackward {
public:
  AttentionBackward(BackwardProblem problem, GradientFunction function,
                    const CpuFeatures &features = CpuFeatures::host(), AttentionBlocks blocks = {});

  void run(const BackwardOperands &operands, ThreadPool &pool) const;

private:
  class Task;
  struct Heads;

  std::vector<float> rowDots(const BackwardOperands &operands, ThreadPool &pool) const;

  BackwardProblem problem;
  GradientFunction function;
  BlockProduct scores, cotangents, toQueries, toKeys, toValues;
  Conversion resultToFloat, cotangentToFloat, storeQueries, storeKeys, storeValues;
  int64_t blockQueries = 0, blockKeys = 0;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_ATTENTION_ATTENTIONBACKWARD_H
