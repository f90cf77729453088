#include "tilewright/runtime/cpu/attention/Attention.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tilewright::runtime::cpu {

int64_t AttentionProblem::headCount() const {
  int64_t count = 1;
  for (const HeadDimension &dim : heads)
    count *= dim.size;
  return count;
}

AttentionProblem AttentionProblem::dense(ElementType type, int64_t heads, int64_t queries,
                                         int64_t keys, int64_t depth, int64_t width) {
  AttentionProblem problem;
  problem.queryType = problem.keyType = problem.valueType = problem.weightType = type;
  problem.resultType = type;
  problem.queries = queries;
  problem.keys = keys;
  problem.depth = depth;
  problem.width = width;
  problem.queryRows.stride = problem.keyRows.stride = depth;
  problem.valueRows.stride = problem.resultRows.stride = width;
  problem.heads = {{heads, queries * depth, keys * depth, keys * width, queries * width}};
  return problem;
}

bool Attention::supports(ElementType type) {
  return numerics::isReal(type) && numerics::bitWidth(type) <= 32;
}

Attention::Attention(AttentionProblem problem, ScoreFunction score, const CpuFeatures &features,
                     AttentionBlocks blocks)
    : shape(std::move(problem)), score(score), first(features, shape.queryType, shape.keyType),
      second(features, shape.weightType, shape.valueType),
      toResult(features, ElementType::f32, shape.resultType) {
  // The tile and the packed weights of 128 x 256 f32 take 256 KiB, and the blocks of keys and
  // values 128 KiB for a depth of 64. Together they fit in an L2 of 1 MiB; an L2 of 2 MiB has room
  // for twice as many queries. Packing a block of keys takes much less time than the product with
  // it.
  unitRows = roundUp(std::max(first.kernel().rows, second.kernel().rows), first.kernel().rows);
  const int64_t rows = blocks.queries                    ? blocks.queries
                       : features.level2Bytes >= 2 << 20 ? 256
                                                         : 128;
  blockQueries =
      std::max(unitRows, blocks.queries ? roundUp(rows, unitRows) : rows / unitRows * unitRows);
  const int64_t keyUnit = std::max(first.kernel().columns, second.kernel().depth);
  blockKeys = roundUp(blocks.keys ? blocks.keys : 256, keyUnit);
  blockKeys = std::min(blockKeys, roundUp(shape.keys, keyUnit));
}

/// A block of queries of one head.
struct Attention::Task {
  const Attention &self;
  const AttentionProblem &shape = self.shape;
  OperandView queries, keys, values;
  std::byte *result;
  float *rowMaximum, *rowSum;
  std::vector<void *> inputs;

  Task(const Attention &attention, const AttentionOperands &operands, int64_t head)
      : self(attention), queries{static_cast<const std::byte *>(operands.queries), shape.queryType,
                                 &shape.queryRows, &shape.queryDepth},
        keys{static_cast<const std::byte *>(operands.keys), shape.keyType, &shape.keyRows,
             &shape.keyDepth},
        // The second product treats the columns of the values as lines, and sums over keys.
        values{static_cast<const std::byte *>(operands.values), shape.valueType,
               &shape.valueColumns, &shape.valueRows},
        result(static_cast<std::byte *>(operands.result)),
        rowMaximum(operands.maximum ? operands.maximum + head * shape.queries : nullptr),
        rowSum(operands.sum ? operands.sum + head * shape.queries : nullptr),
        inputs(operands.inputs) {
    for (size_t i = shape.heads.size(); i-- > 0;) {
      const HeadDimension &dim = shape.heads[i];
      const int64_t index = head % dim.size;
      head /= dim.size;
      queries.data += index * dim.queryStride * bytesOf(shape.queryType);
      keys.data += index * dim.keyStride * bytesOf(shape.keyType);
      values.data += index * dim.valueStride * bytesOf(shape.valueType);
      result += index * dim.resultStride * bytesOf(shape.resultType);
      for (size_t input = 0; input < inputs.size(); ++input)
        inputs[input] = static_cast<std::byte *>(inputs[input]) + index * dim.inputStrides[input];
    }
  }

  /// Computes queries [query, query + rows).
  void run(int64_t query, int64_t rows) const {
    const BlockProduct &first = self.first, &second = self.second;
    const int64_t floatBytes = bytesOf(ElementType::f32);
    const bool isSeparate = shape.weightType != ElementType::f32;
    const BlockMemory memory({first.lhsBytes(rows, shape.depth),
                              std::max(first.rhsBytes(self.blockKeys, shape.depth),
                                       second.rhsBytes(shape.width, self.blockKeys)),
                              rows * self.blockKeys * floatBytes,
                              isSeparate ? rows * self.blockKeys * bytesOf(shape.weightType) : 0,
                              second.lhsBytes(rows, self.blockKeys),
                              rows * shape.width * floatBytes, rows * floatBytes, rows * floatBytes,
                              rows * floatBytes});
    Block block{.query = query,
                .rows = rows,
                .packedQueries = memory[0],
                .packed = memory[1],
                .tile = memory.floats(2),
                .weights = isSeparate ? memory[3] : memory[2],
                .packedWeights = memory[4],
                .sums = memory.floats(5),
                .maximum = memory.floats(6),
                .sum = memory.floats(7),
                .factor = memory.floats(8)};
    std::fill_n(block.maximum, rows, -std::numeric_limits<float>::infinity());
    std::fill_n(block.sum, rows, 0.0f);
    std::fill_n(block.sums, rows * shape.width, 0.0f);
    first.packLhs(memory[0], queries, query, rows, 0, shape.depth);

    if (!shape.maskedScore || !self.score.isMasked) {
      for (int64_t key = 0; key < shape.keys; key += self.blockKeys)
        add(block, key, {{0, rows}});
    } else {
      addVisible(block);
    }
    finish(block);
  }

private:
  struct Block {
    int64_t query, rows;
    std::byte *packedQueries, *packed;
    float *tile;
    std::byte *weights, *packedWeights;
    float *sums, *maximum, *sum, *factor;
  };

  int64_t keysAt(int64_t key) const { return std::min(self.blockKeys, shape.keys - key); }

  /// Rows [begin, end) of a block of queries.
  struct Rows {
    int64_t begin, end;
  };
  /// Appends rows, which must not be before those that the list has.
  static void append(std::vector<Rows> &list, Rows rows) {
    if (!list.empty() && list.back().end == rows.begin)
      list.back().end = rows.end;
    else
      list.push_back(rows);
  }

  /// Adds the blocks of keys whose scores count. Decides that for each unit of rows by itself: the
  /// number of units in a block depends on the number of threads, and a masked score of weight 0
  /// changes the result where the value is infinite or NaN.
  void addVisible(const Block &block) const {
    std::vector<Rows> units;
    for (int64_t row = 0; row < block.rows; row += self.unitRows)
      units.push_back({row, std::min(row + self.unitRows, block.rows)});
    std::vector<bool> isMasked; // by block of keys, then by unit
    std::vector<Rows> visible;
    for (int64_t key = 0; key < shape.keys; key += self.blockKeys) {
      visible.clear();
      for (Rows rows : units) {
        isMasked.push_back(self.score.isMasked(inputs.data(), block.query + rows.begin,
                                               block.query + rows.end, key, key + keysAt(key)));
        if (!isMasked.back())
          append(visible, rows);
      }
      add(block, key, visible);
    }
    // A masked score has no weight if another score exceeds it by 104 (exp(-104) is 0 in f32).
    // Otherwise it counts, as in a row that is masked entirely.
    std::vector<bool> needsMasked;
    for (Rows rows : units)
      needsMasked.push_back(
          std::any_of(block.maximum + rows.begin, block.maximum + rows.end,
                      [&](float maximum) { return !(maximum - *shape.maskedScore > 104); }));
    size_t i = 0;
    for (int64_t key = 0; key < shape.keys; key += self.blockKeys) {
      visible.clear();
      for (size_t unit = 0; unit < units.size(); ++unit)
        if (isMasked[i++] && needsMasked[unit])
          append(visible, units[unit]);
      add(block, key, visible);
    }
  }

  /// Adds a block of keys to the sums of some rows. Each range begins at a unit.
  void add(const Block &block, int64_t key, const std::vector<Rows> &ranges) const {
    if (ranges.empty())
      return;
    const BlockProduct &first = self.first, &second = self.second;
    const int64_t count = keysAt(key), stride = self.blockKeys;
    const int64_t weightBytes = bytesOf(shape.weightType);
    first.packRhs(block.packed, keys, key, count, 0, shape.depth);
    for (Rows rows : ranges) {
      float *tile = block.tile + rows.begin * stride;
      first.multiply(block.packedQueries + first.lhsBytes(rows.begin, shape.depth), block.packed,
                     rows.end - rows.begin, count, shape.depth, tile, stride, false);
      self.score.update(
          inputs.data(), block.query + rows.begin, block.query + rows.end, key, key + count, tile,
          stride, block.weights + rows.begin * stride * weightBytes, stride,
          block.maximum + rows.begin, block.sum + rows.begin, block.factor + rows.begin);
      rescale(block, rows);
    }
    const Placement along{stride, {}}, across{1, {}};
    second.packRhs(block.packed, values, 0, shape.width, key, count);
    for (Rows rows : ranges) {
      second.packLhs(block.packedWeights, {block.weights, shape.weightType, &along, &across},
                     rows.begin, rows.end - rows.begin, 0, count);
      second.multiply(block.packedWeights, block.packed, rows.end - rows.begin, shape.width, count,
                      block.sums + rows.begin * shape.width, shape.width, true);
    }
  }

  void rescale(const Block &block, Rows rows) const {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const float factor = block.factor[row];
      if (factor == 1)
        continue;
      float *sums = block.sums + row * shape.width;
      for (int64_t column = 0; column < shape.width; ++column)
        sums[column] *= factor;
    }
  }

  /// Divides by the sum of the weights and writes the result.
  void finish(const Block &block) const {
    for (int64_t row = 0; row < block.rows; ++row) {
      float *sums = block.sums + row * shape.width;
      for (int64_t column = 0; column < shape.width; ++column)
        sums[column] /= block.sum[row];
    }
    if (rowMaximum)
      std::copy_n(block.maximum, block.rows, rowMaximum + block.query);
    if (rowSum)
      std::copy_n(block.sum, block.rows, rowSum + block.query);
    storeSums(self.toResult, reinterpret_cast<const std::byte *>(block.sums), shape.width,
              block.query, block.rows, 0, shape.width, result, shape.resultRows,
              shape.resultColumns);
  }
};

void Attention::run(const AttentionOperands &operands, ThreadPool &pool) const {
  if (shape.queries <= 0 || shape.width <= 0 || shape.headCount() <= 0)
    return;
  // Use smaller blocks if there are fewer blocks than threads. A row's result does not depend on
  // the block size: blocks consist of whole units, which are the same in all.
  const int64_t heads = shape.headCount(), threads = pool.threadCount();
  const int64_t parts = (threads + heads - 1) / heads;
  const int64_t rows =
      std::min(blockQueries, roundUp((shape.queries + parts - 1) / parts, unitRows));
  const int64_t blocks = (shape.queries + rows - 1) / rows;
  pool.parallelFor(heads * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      // Start with the last queries: with a causal mask they take longest.
      const int64_t query = (blocks - 1 - i % blocks) * rows;
      Task(*this, operands, i / blocks).run(query, std::min(rows, shape.queries - query));
    }
    PanelScratch::ofThread().trim();
  });
}

} // namespace tilewright::runtime::cpu
