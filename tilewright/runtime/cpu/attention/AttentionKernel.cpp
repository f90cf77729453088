// The library kernel `attention`: strides of a call's tensors as an AttentionProblem.
#include "tilewright/runtime/cpu/attention/Attention.h"
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
    for (const std::byte *input : run.operands.subspan(3))
      operands.inputs.push_back(const_cast<std::byte *>(input));
    attention.run(operands, run.pool);
    return Status();
  }

private:
  Attention attention;
};

/// The stride of a tensor along each dimension of the problem; 0 along those that it lacks.
Result<Dims> stridesOf(const CallReader &reader, size_t number, const Shape &shape,
                       std::span<const int64_t> dims, std::span<const int64_t> sizes) {
  Dims strides(sizes.size(), 0);
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
    strides[dim] = ofTensor[i];
  }
  return strides;
}

struct CallDims {
  size_t query, key, depth, width;
  explicit CallDims(size_t count)
      : query(count - 4), key(count - 3), depth(count - 2), width(count - 1) {}
};

} // namespace

/// Fails if a tensor varies along a dimension other than `allowed` and the heads.
static Status checkVaries(const CallReader &reader, size_t number, const Dims &strides,
                          const artifact::AttentionCall &call,
                          std::initializer_list<size_t> allowed) {
  for (size_t dim = call.sizes.size() - 4; dim < call.sizes.size(); ++dim)
    if (strides[dim] != 0 && std::find(allowed.begin(), allowed.end(), dim) == allowed.end())
      return reader.failure("tensor ", number, " must not vary along dimension ", dim);
  return Status();
}

static Status checkCall(const CallReader &reader, const artifact::AttentionCall &call,
                        const LibrarySignature &types) {
  if (types.operands.size() < 3 || types.results.size() != 1)
    return reader.failure("must have at least 3 operands and 1 result, got ", types.operands.size(),
                          " and ", types.results.size());
  if (call.sizes.size() < 4 || call.maskedScore.size() > 1 || !call.weightType ||
      types.bodies.size() != 1 + call.maskedScore.size())
    return reader.failure("must have at least 4 sizes, a weight type, and a body for the softmax "
                          "and for the mask if there is one");
  // Generated code numbers queries and keys with 32 bits.
  for (int64_t size : call.sizes)
    if (size < 0 || size > std::numeric_limits<int32_t>::max())
      return reader.failure("sizes must be less than 2^31, got ", size);
  for (ElementType type : {types.operands[0].element, types.operands[1].element,
                           types.operands[2].element, types.results[0].element, *call.weightType})
    if (!Attention::supports(type))
      return reader.failure("supports reals of at most 32 bits, got ", numerics::spelling(type));
  return Status();
}

KernelResult prepareAttention(const artifact::AttentionCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(checkCall(reader, call, types));
  const CallDims at(call.sizes.size());
  std::vector<Dims> strides;
  size_t next = 0;
  for (size_t number = 0; number <= types.operands.size(); ++number) {
    const bool isOperand = number < types.operands.size();
    TILEWRIGHT_ASSIGN(Shape shape, isOperand ? reader.operandShape(number) : reader.resultShape(0));
    const auto rank = static_cast<size_t>(shape.rank());
    if (call.dims.size() - next < rank)
      return reader.failure("has too few dims: ", call.dims.size());
    TILEWRIGHT_ASSIGN(
        Dims ofTensor,
        stridesOf(reader, number, shape, std::span(call.dims).subspan(next, rank), call.sizes));
    strides.push_back(std::move(ofTensor));
    next += rank;
  }
  if (next != call.dims.size())
    return reader.failure("has too many dims: ", call.dims.size(), ", needs ", next);
  TILEWRIGHT_TRY(checkVaries(reader, 0, strides[0], call, {at.query, at.depth}));
  TILEWRIGHT_TRY(checkVaries(reader, 1, strides[1], call, {at.key, at.depth}));
  TILEWRIGHT_TRY(checkVaries(reader, 2, strides[2], call, {at.key, at.width}));
  const Dims &result = strides.back();
  for (size_t dim = 0; dim < call.sizes.size(); ++dim)
    if ((dim == at.key || dim == at.depth) != (result[dim] == 0) && call.sizes[dim] != 1)
      return reader.failure("the result must vary along heads, queries and width only");

  AttentionProblem problem;
  problem.queryType = types.operands[0].element;
  problem.keyType = types.operands[1].element;
  problem.valueType = types.operands[2].element;
  problem.weightType = *call.weightType;
  problem.resultType = types.results[0].element;
  problem.queries = call.sizes[at.query];
  problem.keys = call.sizes[at.key];
  problem.depth = call.sizes[at.depth];
  problem.width = call.sizes[at.width];
  problem.queryRows.stride = strides[0][at.query];
  problem.queryDepth.stride = strides[0][at.depth];
  problem.keyRows.stride = strides[1][at.key];
  problem.keyDepth.stride = strides[1][at.depth];
  problem.valueRows.stride = strides[2][at.key];
  problem.valueColumns.stride = strides[2][at.width];
  problem.resultRows.stride = result[at.query];
  problem.resultColumns.stride = result[at.width];
  for (size_t dim = 0; dim < at.query; ++dim) {
    HeadDimension head{call.sizes[dim], strides[0][dim], strides[1][dim], strides[2][dim],
                       result[dim]};
    for (size_t input = 3; input < types.operands.size(); ++input)
      head.inputStrides.push_back(strides[input][dim] * static_cast<int64_t>(numerics::storageBytes(
                                                            types.operands[input].element)));
    problem.heads.push_back(std::move(head));
  }
  // The bodies have the ABI of ScoreFunction.
  ScoreFunction score;
  score.update =
      reinterpret_cast<ScoreFunction::Update>(reinterpret_cast<void (*)()>(types.bodies[0]));
  if (!call.maskedScore.empty()) {
    problem.maskedScore = std::bit_cast<float>(static_cast<uint32_t>(call.maskedScore[0]));
    score.isMasked =
        reinterpret_cast<ScoreFunction::IsMasked>(reinterpret_cast<void (*)()>(types.bodies[1]));
  }
  return makeKernel<AttentionKernel>(std::move(problem), score);
}

} // namespace tilewright::runtime::cpu
