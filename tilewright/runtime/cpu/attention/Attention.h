// Attention: softmax(scores of two operands) times a third operand, without storing all scores.
#ifndef TILEWRIGHT_RUNTIME_CPU_ATTENTION_ATTENTION_H
#define TILEWRIGHT_RUNTIME_CPU_ATTENTION_ATTENTION_H

#include "tilewright/runtime/cpu/attention/BlockProduct.h"

#include <optional>

namespace tilewright::runtime::cpu {

/// The generated code between the two products: scale, soft cap, bias, mask, and the softmax of a
/// block. This is the ABI of generated code.
///
/// `buffers` are the inputs of the score function for one head. Rows are queries and columns are
/// keys of that head, so element [row, column] of an input is at constant strides from its buffer.
struct ScoreFunction {
  /// `tile` has the products of queries [rowBegin, rowEnd) and keys [columnBegin, columnEnd),
  /// row-major with `tileStride` elements from row to row. For each row r, from 0 on:
  ///
  ///   score[c]   = the score function of tile[r, c]
  ///   maximum[r] = max(maximum[r], max of score)              and its old value is `before`
  ///   weight[c]  = exp(score[c] - maximum[r])
  ///   weights[r, c] = weight[c], times a factor if there is dropout, rounded to their type
  ///   factor[r]  = exp(before - maximum[r])
  ///   sum[r]     = sum[r] * factor[r] + sum of weight
  ///
  /// A weight below exp(-87) may be 0. A maximum that is not finite counts as 0 in exponents, and
  /// factor is 1 if `before` is -inf, so that a row has no NaN before its scores have one. `tile`
  /// may be overwritten, and `weights` may be the same memory if it has the same type and stride.
  using Update = void (*)(void *const *buffers, int64_t rowBegin, int64_t rowEnd,
                          int64_t columnBegin, int64_t columnEnd, float *tile, int64_t tileStride,
                          void *weights, int64_t weightsStride, float *maximum, float *sum,
                          float *factor);
  /// Whether the scores of all these elements are AttentionProblem::maskedScore, whatever the
  /// products are. Null if there is no mask.
  using IsMasked = bool (*)(void *const *buffers, int64_t rowBegin, int64_t rowEnd,
                            int64_t columnBegin, int64_t columnEnd);
  Update update = nullptr;
  IsMasked isMasked = nullptr;
};

/// A dimension of the heads, with strides in elements.
struct HeadDimension {
  int64_t size = 1;
  int64_t queryStride = 0, keyStride = 0, valueStride = 0, resultStride = 0;
  std::vector<int64_t> inputStrides = {}; // in bytes, one for each input of the score function
};

/// For each head:
///
///   weights[m, :] = softmax of score(sum over d of queries[m, d] * keys[:, d])
///   result[m, n]  = sum over k of weights[m, k] * values[k, n]
///
/// Products are summed in f32; the types must be reals of at most 32 bits.
struct AttentionProblem {
  ElementType queryType = ElementType::f32, keyType = ElementType::f32,
              valueType = ElementType::f32;
  /// The type to which weights are rounded before the second product.
  ElementType weightType = ElementType::f32;
  ElementType resultType = ElementType::f32;
  int64_t queries = 0, keys = 0, depth = 0, width = 0;
  Placement queryRows, queryDepth, keyRows, keyDepth, valueRows, valueColumns, resultRows,
      resultColumns;
  std::vector<HeadDimension> heads;
  /// The score where the mask is false. Keys with only masked scores are left out, for each unit of
  /// rows whose rows all have a greater score: elsewhere their weights count.
  std::optional<float> maskedScore;

  int64_t headCount() const;
  /// Heads of dense matrices: queries[head][m][d], keys[head][k][d], values[head][k][n].
  static AttentionProblem dense(ElementType type, int64_t heads, int64_t queries, int64_t keys,
                                int64_t depth, int64_t width);
};

struct AttentionOperands {
  const void *queries = nullptr, *keys = nullptr, *values = nullptr;
  void *result = nullptr;
  /// The maximum of the scores and the sum of the weights, [head][query]; null if not wanted.
  float *maximum = nullptr, *sum = nullptr;
  /// The inputs of the score function, at the first element of the first head.
  std::vector<void *> inputs = {};
};

/// The size of a block, rounded up to that of the kernels; 0 derives it from the cache size.
struct AttentionBlocks {
  int64_t queries = 0, keys = 0;
};

/// Attention whose kernels have been chosen. Each thread computes a block of queries of one head.
/// For each block of keys, it computes the scores' products into a tile, applies the score function
/// to the tile, and adds the second product to rescaled sums. Both tiles stay in L2. Several
/// threads may call `run` concurrently, and the result does not depend on the number of threads.
class Attention {
public:
  Attention(AttentionProblem problem, ScoreFunction score,
            const CpuFeatures &features = CpuFeatures::host(), AttentionBlocks blocks = {});

  static bool supports(ElementType type);

  void run(const AttentionOperands &operands, ThreadPool &pool) const;

private:
  struct Task;

  AttentionProblem shape;
  ScoreFunction score;
  BlockProduct first, second;
  int64_t blockQueries = 0, blockKeys = 0;
  /// The number of rows that are tested together for whether a block of keys is masked: a multiple
  /// of the rows of the first product's kernel, and a divisor of the rows of a block.
  int64_t unitRows = 0;
  Conversion toResult;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_ATTENTION_ATTENTION_H
