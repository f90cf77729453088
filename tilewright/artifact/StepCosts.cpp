#include "tilewright/artifact/StepCosts.h"

#include "tilewright/artifact/Statistics.h"

#include <algorithm>
#include <optional>

namespace tilewright::artifact {

namespace {

constexpr const char *costsName = "step-costs";
constexpr size_t stepFields = 9;

int64_t sizeOf(const std::vector<int64_t> &dims, auto includes) {
  int64_t size = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    if (includes(static_cast<int64_t>(i)))
      size *= dims[i];
  return size;
}

bool contains(const std::vector<int64_t> &list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

void addProduct(const Executable &executable, const DotGeneralCall &call, const LibraryStep &step,
                StepCost &cost) {
  if (step.operands.size() < 2)
    return;
  const TensorType &lhs = executable.types[step.operands[0].type],
                   &rhs = executable.types[step.operands[1].type];
  const auto &batching = call.lhsBatchingDimensions;
  const auto &contracting = call.lhsContractingDimensions;
  cost.kind = StepCost::Class::product;
  cost.element = lhs.element;
  cost.batch = sizeOf(lhs.dims, [&](int64_t dim) { return contains(batching, dim); });
  cost.k = sizeOf(lhs.dims, [&](int64_t dim) { return contains(contracting, dim); });
  cost.m = sizeOf(lhs.dims, [&](int64_t dim) {
    return !contains(batching, dim) && !contains(contracting, dim);
  });
  cost.n = sizeOf(rhs.dims, [&](int64_t dim) {
    return !contains(call.rhsBatchingDimensions, dim) &&
           !contains(call.rhsContractingDimensions, dim);
  });
  if (call.block > 0) {
    // A byte of a scaled operand is two elements; all elements are multiplied as bf16.
    cost.k *= lhs.element == ElementType::ui8 ? 2 : 1;
    cost.element = ElementType::bf16;
  }
  cost.flops = 2 * cost.batch * cost.m * cost.n * cost.k;
}

/// The bytes that a call reads and writes if it touches only a part of an operand.
std::optional<int64_t> bytesOfPart(const LibraryCall &call, const LibraryStep &step) {
  if (std::holds_alternative<SliceCall>(call) || std::holds_alternative<DynamicSliceCall>(call))
    return 2 * step.results.front().slice.bytes;
  if (!std::holds_alternative<DynamicUpdateSliceCall>(call))
    return std::nullopt;
  const Slice &whole = step.operands.front().slice, &result = step.results.front().slice;
  return 2 * step.operands[1].slice.bytes + (whole == result ? 0 : 2 * result.bytes);
}

} // namespace

int64_t bytesOf(const Step &step) {
  int64_t sum = 0;
  auto addAll = [&](const auto &operands) {
    for (const Operand &operand : operands)
      sum += operand.slice.bytes;
  };
  if (auto *launch = std::get_if<LaunchStep>(&step.action)) {
    for (const Slice &slice : launch->buffers)
      sum += slice.bytes;
  } else if (auto *library = std::get_if<LibraryStep>(&step.action)) {
    addAll(library->operands), addAll(library->results);
  } else if (auto *call = std::get_if<CustomCallStep>(&step.action)) {
    addAll(call->operands), addAll(call->results);
  } else if (auto *collective = std::get_if<CollectiveStartStep>(&step.action)) {
    addAll(collective->operands), addAll(collective->results);
  } else if (auto *copy = std::get_if<CopyStep>(&step.action)) {
    sum += copy->from.bytes + copy->to.bytes;
  }
  return sum;
}

StepCost costOf(const Executable &executable, const Step &step) {
  StepCost cost;
  cost.bytes = bytesOf(step);
  if (std::holds_alternative<LaunchStep>(step.action) ||
      std::holds_alternative<CopyStep>(step.action))
    cost.kind = StepCost::Class::memory;
  else if (std::holds_alternative<CustomCallStep>(step.action))
    cost.kind = StepCost::Class::call;
  else if (auto *library = std::get_if<LibraryStep>(&step.action)) {
    cost.kind = StepCost::Class::memory;
    const LibraryCall &call = executable.libraries[library->library].call;
    if (auto *dot = std::get_if<DotGeneralCall>(&call))
      addProduct(executable, *dot, *library, cost);
    else if (const std::optional<int64_t> bytes = bytesOfPart(call, *library))
      cost.bytes = *bytes;
  }
  return cost;
}

void addStepCosts(Executable &executable, const StepCosts &costs) {
  std::vector<int64_t> values;
  for (const std::vector<StepCost> &block : costs)
    for (const StepCost &cost : block)
      values.insert(values.end(),
                    {static_cast<int64_t>(cost.kind), cost.flops, cost.transcendentals, cost.bytes,
                     cost.batch, cost.m, cost.n, cost.k, static_cast<int64_t>(cost.element)});
  addStatistic(executable, costsName, values);
}

StepCosts stepCostsOf(const Executable &executable) {
  const std::vector<int64_t> values = statisticList(executable, costsName);
  size_t steps = 0;
  for (const Block &block : executable.blocks)
    steps += block.steps.size();
  if (values.size() != steps * stepFields)
    return {};
  StepCosts costs;
  const int64_t *next = values.data();
  for (const Block &block : executable.blocks) {
    std::vector<StepCost> &into = costs.emplace_back();
    for (size_t i = 0; i < block.steps.size(); ++i, next += stepFields) {
      if (std::any_of(next, next + stepFields, [](int64_t value) { return value < 0; }) ||
          next[0] >= static_cast<int64_t>(stepClassCount) ||
          next[8] >= static_cast<int64_t>(numerics::elementTypeCount))
        return {};
      into.push_back({static_cast<StepCost::Class>(next[0]), next[1], next[2], next[3], next[4],
                      next[5], next[6], next[7], static_cast<ElementType>(next[8])});
    }
  }
  return costs;
}

} // namespace tilewright::artifact
