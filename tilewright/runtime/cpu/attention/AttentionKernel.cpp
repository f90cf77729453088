// Library kernel `attention` and its gradients: turns a call's tensors and strides into a problem.
//
// The field `dims` lists the dimensions of all operands, followed by those of the first result or
// of three results. Three mark the backward pass: its operands are queries, keys, values, the
// cotangent, the forward result, and inputs of the bodies; its results are the gradients of
// queries, keys and values.
#include "tilewright/runtime/cpu/attention/AttentionBackward.h"
#include "tilewright/runtime/cpu/library/CallReader.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace tilewright::runtime::cpu {

namespace {

class AttentionKernel : public LibraryKernel {
public:
  AttentionKernel(AttentionProblem problem, ScoreFunction score)
      : attention(std::move(problem), score) {}

  Status run(const LibraryRun &run) const override {
    AttentionOperands operands{.queries = run.operands[0],
                               .keys = run.operands[1],
                               .values = run.operands[2],
                               .result = run.results[0]};
    if (run.results.size() == 3) {
      operands.maximum = reinterpret_cast<float *>(run.results[1]);
      operands.sum = reinterpret_cast<float *>(run.results[2]);
    }
    for (const std::byte *input : run.operands.subspan(3))
      operands.inputs.push_back(const_cast<std::byte *>(input));
    attention.run(operands, run.pool);
    return Status();
  }

private:
  Attention attention;
};

class BackwardKernel : public LibraryKernel {
public:
  BackwardKernel(BackwardProblem problem, GradientFunction function)
      : backward(std::move(problem), function) {}

  Status run(const LibraryRun &run) const override {
    BackwardOperands operands{.queries = run.operands[0],
                              .keys = run.operands[1],
                              .values = run.operands[2],
                              .cotangent = run.operands[3],
                              .result = run.operands[4],
                              .ofQueries = run.results[0],
                              .ofKeys = run.results[1],
                              .ofValues = run.results[2]};
    for (const std::byte *input : run.operands.subspan(5))
      operands.inputs.push_back(const_cast<std::byte *>(input));
    backward.run(operands, run.pool);
    return Status();
  }

private:
  AttentionBackward backward;
};

/// The tensors of a call in the dimensions heads…, query, key, depth, width.
class CallTensors {
public:
  CallTensors(const CallReader &reader, std::span<const int64_t> sizes)
      : reader(reader), sizes(sizes), query(sizes.size() - 4), key(query + 1), depth(query + 2),
        width(query + 3) {}

  const CallReader &reader;
  std::span<const int64_t> sizes;
  const size_t query, key, depth, width;
  /// For each operand, then for each result: the stride along each dimension; 0 for dimensions that
  /// the tensor lacks.
  std::vector<Dims> strides;

  ///  - libraryCall: `dims` does not fit the first `results` results and all operands.
  Status read(std::span<const int64_t> dims, size_t results) {
    const size_t operands = reader.types.operands.size();
    for (size_t number = 0; number < operands + results; ++number) {
      TILEWRIGHT_ASSIGN(Shape shape, number < operands ? reader.operandShape(number)
                                                       : reader.resultShape(number - operands));
      const auto rank = static_cast<size_t>(shape.rank());
      if (dims.size() < rank)
        return reader.failure("has too few dims");
      TILEWRIGHT_ASSIGN(Dims ofTensor, stridesOf(number, shape, dims.first(rank)));
      strides.push_back(std::move(ofTensor));
      dims = dims.subspan(rank);
    }
    return dims.empty() ? Status() : reader.failure("has too many dims: ", dims.size(), " more");
  }

  ///  - libraryCall: a tensor has a dimension that is neither one of these nor a head dimension.
  Status checkVaries(size_t number, std::initializer_list<size_t> allowed) const {
    for (size_t dim = query; dim < sizes.size(); ++dim)
      if (strides[number][dim] != 0 &&
          std::find(allowed.begin(), allowed.end(), dim) == allowed.end())
        return reader.failure("tensor ", number, " must not vary along dimension ", dim);
    return Status();
  }

  ///  - libraryCall: queries, keys or values have a dimension that they must not have.
  Status checkOperands() const {
    TILEWRIGHT_TRY(checkVaries(0, {query, depth}));
    TILEWRIGHT_TRY(checkVaries(1, {key, depth}));
    return checkVaries(2, {key, width});
  }

  ///  - libraryCall: a result lacks a row or column dimension, or has another one.
  Status checkResult(size_t number, size_t row, size_t column) const {
    for (size_t dim = query; dim < sizes.size(); ++dim)
      if ((dim == row || dim == column) != (strides[number][dim] != 0) && sizes[dim] != 1)
        return reader.failure("the result must vary along its heads, rows and columns only");
    return Status();
  }

  int64_t byteStride(size_t input, size_t dim) const {
    return strides[input][dim] * bytesOf(reader.types.operands[input].element);
  }

  MatrixLayout layout(size_t number, size_t row, size_t column) const {
    const size_t operands = reader.types.operands.size();
    return {number < operands ? reader.types.operands[number].element
                              : reader.types.results[number - operands].element,
            {strides[number][row], {}},
            {strides[number][column], {}}};
  }

  /// The problem for queries, keys and values, which are the first operands. The inputs of
  /// generated code are the operands from `firstInput` on.
  AttentionProblem problem(size_t result, size_t firstInput) const {
    AttentionProblem problem;
    auto place = [&](size_t number, size_t row, size_t column, ElementType &type, Placement &rows,
                     Placement &columns) {
      MatrixLayout placed = layout(number, row, column);
      type = placed.type;
      rows = std::move(placed.rows);
      columns = std::move(placed.columns);
    };
    place(0, query, depth, problem.queryType, problem.queryRows, problem.queryDepth);
    place(1, key, depth, problem.keyType, problem.keyRows, problem.keyDepth);
    place(2, key, width, problem.valueType, problem.valueRows, problem.valueColumns);
    place(result, query, width, problem.resultType, problem.resultRows, problem.resultColumns);
    problem.queries = sizes[query];
    problem.keys = sizes[key];
    problem.depth = sizes[depth];
    problem.width = sizes[width];
    for (size_t dim = 0; dim < query; ++dim) {
      HeadDimension head{sizes[dim], strides[0][dim], strides[1][dim], strides[2][dim],
                         strides[result][dim]};
      for (size_t input = firstInput; input < reader.types.operands.size(); ++input)
        head.inputStrides.push_back(byteStride(input, dim));
      problem.heads.push_back(std::move(head));
    }
    return problem;
  }

private:
  Result<Dims> stridesOf(size_t number, const Shape &shape, std::span<const int64_t> dims) const {
    Dims result(sizes.size(), 0);
    std::vector<bool> isNamed(sizes.size());
    const Dims ofTensor = shape.strides();
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t size = shape.dims()[i];
      if (dims[i] < 0 && size == 1)
        continue;
      const auto dim = static_cast<size_t>(dims[i]);
      if (dims[i] < 0 || dim >= sizes.size() || isNamed[dim] || sizes[dim] != size)
        return reader.failure("dimension ", i, " of tensor ", number, ", ", shape.toString(),
                              ", must be one of the problem, of the same size, got ", dims[i]);
      isNamed[dim] = true;
      result[dim] = ofTensor[i];
    }
    return result;
  }
};

} // namespace

/// Checks what both calls have in common.
static Status checkSizes(const CallReader &reader, std::span<const int64_t> sizes) {
  if (sizes.size() < 4)
    return reader.failure("must have at least 4 sizes, got ", sizes.size());
  // Generated code indexes queries and keys with 32 bits.
  for (int64_t size : sizes)
    if (size < 0 || size > std::numeric_limits<int32_t>::max())
      return reader.failure("sizes must be less than 2^31, got ", size);
  return Status();
}

static Status checkTypes(const CallReader &reader, std::initializer_list<ElementType> types) {
  for (ElementType type : types)
    if (!Attention::supports(type))
      return reader.failure("supports reals of at most 32 bits, got ", numerics::spelling(type));
  return Status();
}

/// The address of a body, as a function with the body's ABI.
template <typename Function> static Function functionOf(Body body) {
  return reinterpret_cast<Function>(reinterpret_cast<void (*)()>(body));
}

/// Whether `dims` contains lists for all operands and three results.
static bool isBackward(const artifact::AttentionCall &call, const LibrarySignature &types) {
  size_t ranks = 0;
  for (const auto &tensors : {types.operands, types.results})
    for (const TensorType &tensor : tensors)
      ranks += tensor.dims.size();
  return types.results.size() == 3 && call.dims.size() == ranks;
}

/// Finds the head dimensions over which gradients of keys and values are summed.
static Status placeGradients(const CallTensors &tensors, BackwardProblem &problem) {
  const CallReader &reader = tensors.reader;
  const size_t ofQueries = reader.types.operands.size(), ofKeys = ofQueries + 1,
               ofValues = ofQueries + 2;
  TILEWRIGHT_TRY(tensors.checkResult(ofQueries, tensors.query, tensors.depth));
  TILEWRIGHT_TRY(tensors.checkResult(ofKeys, tensors.key, tensors.depth));
  TILEWRIGHT_TRY(tensors.checkResult(ofValues, tensors.key, tensors.width));
  problem.ofQueries = tensors.layout(ofQueries, tensors.query, tensors.depth);
  problem.ofKeys = tensors.layout(ofKeys, tensors.key, tensors.depth);
  problem.ofValues = tensors.layout(ofValues, tensors.key, tensors.width);
  for (size_t dim = 0; dim < tensors.query; ++dim) {
    auto varies = [&](size_t number) {
      return tensors.strides[number][dim] != 0 || tensors.sizes[dim] == 1;
    };
    if (!varies(ofQueries) || varies(ofKeys) != varies(ofValues))
      return reader.failure("gradients of keys and values must lack the same heads, that of "
                            "queries none");
    if (!varies(ofKeys) && (tensors.strides[1][dim] != 0 || tensors.strides[2][dim] != 0))
      return reader.failure("keys and values must not vary along dimension ", dim,
                            ", over which their gradients are summed");
    problem.heads.push_back({tensors.strides[3][dim], tensors.strides[ofQueries][dim],
                             tensors.strides[ofKeys][dim], tensors.strides[ofValues][dim],
                             !varies(ofKeys)});
  }
  return Status();
}

static KernelResult prepareBackward(const CallReader &reader, const artifact::AttentionCall &call) {
  const LibrarySignature &types = reader.types;
  if (types.operands.size() < 5 || !call.weightType || !call.maskedScore.empty() ||
      types.bodies.empty() || types.bodies.size() > 2)
    return reader.failure("must have at least 5 operands, a weight type, 1 or 2 bodies, and no "
                          "masked score for gradients");
  TILEWRIGHT_TRY(checkSizes(reader, call.sizes));
  TILEWRIGHT_TRY(checkTypes(reader, {*call.weightType}));
  for (size_t i = 0; i < 5; ++i)
    TILEWRIGHT_TRY(checkTypes(reader, {types.operands[i].element}));
  for (const TensorType &result : types.results)
    TILEWRIGHT_TRY(checkTypes(reader, {result.element}));
  CallTensors tensors(reader, call.sizes);
  TILEWRIGHT_TRY(tensors.read(call.dims, 3));
  TILEWRIGHT_TRY(tensors.checkOperands());
  for (size_t i : {3u, 4u})
    TILEWRIGHT_TRY(tensors.checkVaries(i, {tensors.query, tensors.width}));
  BackwardProblem problem;
  problem.forward = tensors.problem(4, 5);
  problem.forward.weightType = problem.gradientType = *call.weightType;
  problem.cotangent = tensors.layout(3, tensors.query, tensors.width);
  TILEWRIGHT_TRY(placeGradients(tensors, problem));
  GradientFunction function;
  function.compute = functionOf<GradientFunction::Compute>(types.bodies[0]);
  if (types.bodies.size() == 2)
    function.isMasked = functionOf<ScoreFunction::IsMasked>(types.bodies[1]);
  return makeKernel<BackwardKernel>(std::move(problem), function);
}

KernelResult prepareAttention(const artifact::AttentionCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  if (isBackward(call, types))
    return prepareBackward(reader, call);
  if (types.operands.size() < 3 || (types.results.size() != 1 && types.results.size() != 3))
    return reader.failure("must have at least 3 operands, and 1 or 3 results, got ",
                          types.operands.size(), " and ", types.results.size());
  if (call.maskedScore.size() > 1 || !call.weightType ||
      types.bodies.size() != 1 + call.maskedScore.size())
    return reader.failure("must have a weight type, and a body for the softmax and for the mask if "
                          "there is one");
  TILEWRIGHT_TRY(checkSizes(reader, call.sizes));
  TILEWRIGHT_TRY(
      checkTypes(reader, {types.operands[0].element, types.operands[1].element,
                          types.operands[2].element, types.results[0].element, *call.weightType}));
  CallTensors tensors(reader, call.sizes);
  TILEWRIGHT_TRY(tensors.read(call.dims, 1));
  TILEWRIGHT_TRY(tensors.checkOperands());
  const size_t result = types.operands.size();
  TILEWRIGHT_TRY(tensors.checkResult(result, tensors.query, tensors.width));
  for (size_t dim = 0; dim < tensors.query; ++dim)
    if (tensors.strides[result][dim] == 0 && call.sizes[dim] != 1)
      return reader.failure("the result must vary along its heads, rows and columns only");
  for (size_t i = 1; i < types.results.size(); ++i)
    TILEWRIGHT_TRY(
        reader.expectResult(i, ElementType::f32, std::span(call.sizes).first(tensors.key)));

  AttentionProblem problem = tensors.problem(result, 3);
  problem.weightType = *call.weightType;
  ScoreFunction score;
  score.update = functionOf<ScoreFunction::Update>(types.bodies[0]);
  if (!call.maskedScore.empty()) {
    problem.maskedScore = std::bit_cast<float>(static_cast<uint32_t>(call.maskedScore[0]));
    score.isMasked = functionOf<ScoreFunction::IsMasked>(types.bodies[1]);
  }
  return makeKernel<AttentionKernel>(std::move(problem), score);
}

} // namespace tilewright::runtime::cpu
