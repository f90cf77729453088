#include "tilewright/runtime/cpu/attention/AttentionBackward.h"

#include <algorithm>
#include <utility>

namespace tilewright::runtime::cpu {

BackwardProblem BackwardProblem::dense(ElementType type, int64_t heads, int64_t queries,
                                       int64_t keys, int64_t depth, int64_t width) {
  BackwardProblem problem;
  problem.forward = AttentionProblem::dense(type, heads, queries, keys, depth, width);
  problem.gradientType = type;
  problem.cotangent = problem.ofValues = {type, {width, {}}, {}};
  problem.ofQueries = problem.ofKeys = {type, {depth, {}}, {}};
  problem.heads = {{queries * width, queries * depth, keys * depth, keys * width}};
  return problem;
}

AttentionBackward::AttentionBackward(BackwardProblem backward, GradientFunction function,
                                     const CpuFeatures &features, AttentionBlocks blocks)
    : problem(std::move(backward)), function(function),
      scores(features, problem.forward.queryType, problem.forward.keyType),
      cotangents(features, problem.cotangent.type, problem.forward.valueType),
      toQueries(features, problem.gradientType, problem.forward.keyType),
      toKeys(features, problem.gradientType, problem.forward.queryType),
      toValues(features, problem.forward.weightType, problem.cotangent.type),
      resultToFloat(features, problem.forward.resultType, ElementType::f32),
      cotangentToFloat(features, problem.cotangent.type, ElementType::f32),
      storeQueries(features, ElementType::f32, problem.ofQueries.type),
      storeKeys(features, ElementType::f32, problem.ofKeys.type),
      storeValues(features, ElementType::f32, problem.ofValues.type) {
  // Two tiles of 128 x 256 f32 fit in an L2 of 1 MiB together with the packed blocks.
  int64_t unit = 1, keyUnit = 1;
  for (const BlockProduct *product : {&scores, &cotangents, &toQueries})
    unit = std::max(unit, product->kernel().rows);
  for (const BlockProduct *product : {&scores, &cotangents, &toKeys, &toValues})
    keyUnit = std::max({keyUnit, product->kernel().columns, product->kernel().rows});
  auto blockOf = [](int64_t wanted, int64_t size, int64_t to) {
    return std::max(to, std::min(roundUp(wanted, to), roundUp(size, to)));
  };
  blockQueries = blockOf(blocks.queries ? blocks.queries : 128, problem.forward.queries, unit);
  blockKeys = blockOf(blocks.keys ? blocks.keys : 256, problem.forward.keys, keyUnit);
}

/// The number of heads with keys of their own, times the number of heads that share each of them.
struct AttentionBackward::Heads {
  int64_t own = 1, shared = 1;

  explicit Heads(const BackwardProblem &problem) {
    for (size_t i = 0; i < problem.heads.size(); ++i)
      (problem.heads[i].isSummed ? shared : own) *= problem.forward.heads[i].size;
  }
};

/// The tensors of one head.
namespace {
struct HeadTensors {
  OperandView queries, keys, values, cotangent, result;
  std::byte *ofQueries, *ofKeys, *ofValues;
  std::vector<void *> inputs;
  int64_t number = 0; // in the order of the dimensions

  HeadTensors(const BackwardProblem &problem, const BackwardOperands &operands, int64_t own,
              int64_t shared) {
    const AttentionProblem &shape = problem.forward;
    auto view = [](const void *data, ElementType type, const Placement &lines,
                   const Placement &summed) {
      return OperandView{static_cast<const std::byte *>(data), type, &lines, &summed};
    };
    queries = view(operands.queries, shape.queryType, shape.queryRows, shape.queryDepth);
    keys = view(operands.keys, shape.keyType, shape.keyRows, shape.keyDepth);
    values = view(operands.values, shape.valueType, shape.valueRows, shape.valueColumns);
    cotangent = view(operands.cotangent, problem.cotangent.type, problem.cotangent.rows,
                     problem.cotangent.columns);
    result = view(operands.result, shape.resultType, shape.resultRows, shape.resultColumns);
    ofQueries = static_cast<std::byte *>(operands.ofQueries);
    ofKeys = static_cast<std::byte *>(operands.ofKeys);
    ofValues = static_cast<std::byte *>(operands.ofValues);
    inputs = operands.inputs;
    auto move = [](auto &data, int64_t index, int64_t stride, ElementType type) {
      if (data)
        data += index * stride * bytesOf(type);
    };
    int64_t weight = 1;
    for (size_t i = problem.heads.size(); i-- > 0;) {
      const HeadDimension &dim = shape.heads[i];
      const BackwardProblem::Head &head = problem.heads[i];
      int64_t &rest = head.isSummed ? shared : own;
      const int64_t index = rest % dim.size;
      rest /= dim.size;
      number += index * weight;
      weight *= dim.size;
      move(queries.data, index, dim.queryStride, shape.queryType);
      move(keys.data, index, dim.keyStride, shape.keyType);
      move(values.data, index, dim.valueStride, shape.valueType);
      move(result.data, index, dim.resultStride, shape.resultType);
      move(cotangent.data, index, head.cotangentStride, problem.cotangent.type);
      move(ofQueries, index, head.ofQueriesStride, problem.ofQueries.type);
      move(ofKeys, index, head.ofKeysStride, problem.ofKeys.type);
      move(ofValues, index, head.ofValuesStride, problem.ofValues.type);
      for (size_t input = 0; input < inputs.size(); ++input)
        inputs[input] = static_cast<std::byte *>(inputs[input]) + index * dim.inputStrides[input];
    }
  }
};

/// The same operand with its columns as lines, for products that sum over rows.
OperandView turned(OperandView view) {
  std::swap(view.lines, view.summed);
  return view;
}

int64_t blocksOf(int64_t size, int64_t block) { return (size + block - 1) / block; }

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};
} // namespace

/// A range of keys, and a range of queries of the heads that share them.
class AttentionBackward::Task {
public:
  Task(const AttentionBackward &self, const BackwardOperands &operands,
       const std::vector<float> &rowDots, int64_t own)
      : self(self), shape(self.problem.forward), rowDots(rowDots) {
    const Heads count(self.problem);
    for (int64_t shared = 0; shared < count.shared; ++shared)
      heads.emplace_back(self.problem, operands, own, shared);
  }

  /// Computes all gradients of the heads that share the keys.
  void computeAll() { compute({0, shape.keys}, {0, shape.queries}, true, true); }
  /// The gradients of keys and values, for a block of keys.
  void computeKeys(int64_t key) {
    compute({key, std::min(key + self.blockKeys, shape.keys)}, {0, shape.queries}, false, true);
  }
  /// The gradients of queries, for a block of queries of one head.
  void computeQueries(int64_t shared, int64_t query) {
    heads = {heads[static_cast<size_t>(shared)]};
    compute({0, shape.keys}, {query, std::min(query + self.blockQueries, shape.queries)}, true,
            false);
  }

private:
  /// The parts of a task's memory.
  enum Part {
    scoreKeys,      // packed keys and values, for the first two products
    valueLines,     //
    queryKeys,      // packed keys, for the gradients of queries
    queryLines,     // packed queries and cotangent, for the first two products
    cotangentLines, //
    columns,        // packed queries or cotangent, for gradients of keys and values
    lines,          // packed weights or gradients
    productTile,
    cotangentTile,
    weightTile,
    gradientTile,
    sumsOfKeys,
    sumsOfValues,
    sumsOfQueries
  };

  BlockMemory memoryFor(int64_t queries) const {
    const int64_t rows = self.blockQueries, columns = self.blockKeys, tile = rows * columns;
    const int64_t depth = shape.depth, width = shape.width, bytes = bytesOf(ElementType::f32);
    auto separate = [&](ElementType type) {
      return type == ElementType::f32 ? 0 : tile * bytesOf(type);
    };
    return BlockMemory(
        {self.scores.rhsBytes(columns, depth), self.cotangents.rhsBytes(columns, width),
         self.toQueries.rhsBytes(depth, columns), self.scores.lhsBytes(rows, depth),
         self.cotangents.lhsBytes(rows, width),
         std::max(self.toKeys.rhsBytes(depth, rows), self.toValues.rhsBytes(width, rows)),
         std::max({self.toKeys.lhsBytes(columns, rows), self.toValues.lhsBytes(columns, rows),
                   self.toQueries.lhsBytes(rows, columns)}),
         tile * bytes, tile * bytes, separate(shape.weightType),
         separate(self.problem.gradientType), columns * depth * bytes, columns * width * bytes,
         queries * depth * bytes});
  }

  void compute(Range keys, Range queries, bool hasQueries, bool hasKeys) {
    ofQueries = hasQueries && heads[0].ofQueries;
    ofKeys = hasKeys && heads[0].ofKeys;
    ofValues = hasKeys && heads[0].ofValues;
    const auto count = static_cast<int64_t>(heads.size());
    const BlockMemory memory = memoryFor(ofQueries ? count * queries.size() : 0);
    if (ofQueries)
      std::fill_n(memory.floats(sumsOfQueries), count * queries.size() * shape.depth, 0.0f);
    for (int64_t key = keys.begin; key < keys.end; key += self.blockKeys)
      addKeys(memory, {key, std::min(key + self.blockKeys, keys.end)}, queries);
    for (int64_t i = 0; ofQueries && i < count; ++i)
      store(self.storeQueries, memory.floats(sumsOfQueries) + i * queries.size() * shape.depth,
            queries, shape.depth, heads[static_cast<size_t>(i)].ofQueries, self.problem.ofQueries);
  }

  static void store(const Conversion &conversion, const float *sums, Range rows, int64_t width,
                    std::byte *to, const MatrixLayout &layout) {
    storeSums(conversion, reinterpret_cast<const std::byte *>(sums), width, rows.begin, rows.size(),
              0, width, to, layout.rows, layout.columns);
  }

  /// Processes a block of keys with all queries of the range.
  void addKeys(const BlockMemory &memory, Range keys, Range queries) const {
    const HeadTensors &first = heads[0];
    const int64_t depth = shape.depth, width = shape.width;
    self.scores.packRhs(memory[scoreKeys], first.keys, keys.begin, keys.size(), 0, depth);
    if (ofQueries || ofKeys)
      self.cotangents.packRhs(memory[valueLines], first.values, keys.begin, keys.size(), 0, width);
    if (ofQueries)
      self.toQueries.packRhs(memory[queryKeys], turned(first.keys), 0, depth, keys.begin,
                             keys.size());
    std::fill_n(memory.floats(sumsOfKeys), keys.size() * depth, 0.0f);
    std::fill_n(memory.floats(sumsOfValues), keys.size() * width, 0.0f);
    float *sums = memory.floats(sumsOfQueries);
    for (const HeadTensors &head : heads) {
      for (int64_t query = queries.begin; query < queries.end; query += self.blockQueries)
        addBlock(memory, head, keys, {query, std::min(query + self.blockQueries, queries.end)},
                 sums + (query - queries.begin) * depth);
      sums += queries.size() * depth;
    }
    if (ofKeys)
      store(self.storeKeys, memory.floats(sumsOfKeys), keys, depth, first.ofKeys,
            self.problem.ofKeys);
    if (ofValues)
      store(self.storeValues, memory.floats(sumsOfValues), keys, width, first.ofValues,
            self.problem.ofValues);
  }

  /// Adds a block of queries and keys to the sums.
  void addBlock(const BlockMemory &memory, const HeadTensors &head, Range keys, Range queries,
                float *querySums) const {
    if (self.function.isMasked && self.function.isMasked(head.inputs.data(), queries.begin,
                                                         queries.end, keys.begin, keys.end))
      return;
    const int64_t rows = queries.size(), columnCount = keys.size(), stride = self.blockKeys;
    const int64_t depth = shape.depth, width = shape.width;
    self.scores.packLhs(memory[queryLines], head.queries, queries.begin, rows, 0, depth);
    self.scores.multiply(memory[queryLines], memory[scoreKeys], rows, columnCount, depth,
                         memory.floats(productTile), stride, false);
    if (ofQueries || ofKeys) {
      self.cotangents.packLhs(memory[cotangentLines], head.cotangent, queries.begin, rows, 0,
                              width);
      self.cotangents.multiply(memory[cotangentLines], memory[valueLines], rows, columnCount, width,
                               memory.floats(cotangentTile), stride, false);
    } else {
      std::fill_n(memory.floats(cotangentTile), rows * stride, 0.0f);
    }
    const ElementType weightType = shape.weightType, gradientType = self.problem.gradientType;
    std::byte *weights = memory[weightType == ElementType::f32 ? productTile : weightTile];
    std::byte *gradients = memory[gradientType == ElementType::f32 ? cotangentTile : gradientTile];
    self.function.compute(head.inputs.data(), queries.begin, queries.end, keys.begin, keys.end,
                          memory.floats(productTile), memory.floats(cotangentTile), stride,
                          rowDots.data() + head.number * shape.queries + queries.begin, weights,
                          gradients);
    const Placement along{stride, {}}, across{1, {}};
    if (ofValues) {
      self.toValues.packLhs(memory[lines], {weights, weightType, &across, &along}, 0, columnCount,
                            0, rows);
      self.toValues.packRhs(memory[columns], turned(head.cotangent), 0, width, queries.begin, rows);
      self.toValues.multiply(memory[lines], memory[columns], columnCount, width, rows,
                             memory.floats(sumsOfValues), width, true);
    }
    if (ofKeys) {
      self.toKeys.packLhs(memory[lines], {gradients, gradientType, &across, &along}, 0, columnCount,
                          0, rows);
      self.toKeys.packRhs(memory[columns], turned(head.queries), 0, depth, queries.begin, rows);
      self.toKeys.multiply(memory[lines], memory[columns], columnCount, depth, rows,
                           memory.floats(sumsOfKeys), depth, true);
    }
    if (ofQueries) {
      self.toQueries.packLhs(memory[lines], {gradients, gradientType, &along, &across}, 0, rows, 0,
                             columnCount);
      self.toQueries.multiply(memory[lines], memory[queryKeys], rows, depth, columnCount, querySums,
                              depth, true);
    }
  }

  const AttentionBackward &self;
  const AttentionProblem &shape;
  const std::vector<float> &rowDots;
  std::vector<HeadTensors> heads; // those that share keys
  bool ofQueries = false, ofKeys = false, ofValues = false;
};

/// The product of each row of the cotangent with the same row of the result, for each head.
std::vector<float> AttentionBackward::rowDots(const BackwardOperands &operands,
                                              ThreadPool &pool) const {
  const AttentionProblem &shape = problem.forward;
  const Heads heads(problem);
  std::vector<float> dots(static_cast<size_t>(heads.own * heads.shared * shape.queries));
  const int64_t blocks = blocksOf(shape.queries, blockQueries);
  pool.parallelFor(heads.own * heads.shared * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i / blocks, query = i % blocks * blockQueries;
      const int64_t rows = std::min(blockQueries, shape.queries - query), width = shape.width;
      const HeadTensors tensors(problem, operands, head / heads.shared, head % heads.shared);
      const BlockMemory memory({rows * width * bytesOf(ElementType::f32)});
      float *copy = memory.floats(0);
      // The second block may be loaded into the memory of the first.
      LoadedBlock loaded = loadBlock(tensors.result, resultToFloat, query, rows, 0, width);
      const auto *numbers = reinterpret_cast<const float *>(loaded.data);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t n = 0; n < width; ++n)
          copy[row * width + n] = numbers[row * loaded.lineStride + n * loaded.summedStride];
      loaded = loadBlock(tensors.cotangent, cotangentToFloat, query, rows, 0, width);
      numbers = reinterpret_cast<const float *>(loaded.data);
      float *sums = dots.data() + tensors.number * shape.queries + query;
      for (int64_t row = 0; row < rows; ++row) {
        // Use several sums, so that an addition need not wait for the previous one.
        constexpr int64_t lanes = 16;
        float partial[lanes] = {};
        for (int64_t n = 0; n < width; ++n)
          partial[n % lanes] +=
              copy[row * width + n] * numbers[row * loaded.lineStride + n * loaded.summedStride];
        float sum = 0;
        for (float part : partial)
          sum += part;
        sums[row] = sum;
      }
    }
  });
  return dots;
}

void AttentionBackward::run(const BackwardOperands &operands, ThreadPool &pool) const {
  const AttentionProblem &shape = problem.forward;
  const Heads heads(problem);
  if (heads.own <= 0 || heads.shared <= 0)
    return;
  const std::vector<float> dots = rowDots(operands, pool);
  const auto threads = static_cast<int64_t>(pool.threadCount());
  auto each = [&](int64_t count, auto compute) {
    pool.parallelFor(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        compute(i);
      PanelScratch::ofThread().trim();
    });
  };
  // With at least this many heads per thread, threads are idle for at most a quarter of the time
  // while the last one finishes.
  if (heads.own % threads == 0 || heads.own >= 4 * threads)
    return each(heads.own, [&](int64_t own) { Task(*this, operands, dots, own).computeAll(); });
  const int64_t ofKeys = operands.ofKeys || operands.ofValues ? blocksOf(shape.keys, blockKeys) : 0;
  const int64_t ofQueries =
      operands.ofQueries ? heads.shared * blocksOf(shape.queries, blockQueries) : 0;
  each(heads.own * (ofKeys + ofQueries), [&](int64_t i) {
    Task task(*this, operands, dots, i / (ofKeys + ofQueries));
    const int64_t part = i % (ofKeys + ofQueries), block = part - ofKeys;
    if (part < ofKeys)
      return task.computeKeys(part * blockKeys);
    task.computeQueries(block % heads.shared, block / heads.shared * blockQueries);
  });
}

} // namespace tilewright::runtime::cpu
