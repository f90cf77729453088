// dynamic_slice and dynamic_update_slice.
#include "tilewright/runtime/cpu/library/CallReader.h"
#include "tilewright/runtime/cpu/library/movement/CopyPlan.h"
#include "tilewright/runtime/cpu/library/movement/IndexValues.h"

#include <algorithm>

namespace tilewright::runtime::cpu {

namespace {
/// The start of a box: one scalar operand for each dimension, clamped so that the box fits.
class BoxStart {
public:
  static Result<BoxStart> create(const CallReader &reader, const Shape &operand,
                                 std::span<const int64_t> sizes, size_t firstIndex) {
    const LibrarySignature &types = reader.types;
    BoxStart start;
    start.firstIndex = firstIndex;
    const auto bytes = static_cast<int64_t>(numerics::storageBytes(types.operands[0].element));
    const Dims strides = operand.strides();
    if (static_cast<int64_t>(sizes.size()) != operand.rank())
      return reader.failure("the slice must have the operand's rank, ", operand.rank(), ", got ",
                            sizes.size());
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      const TensorType &index = types.operands[firstIndex + dim];
      TILEWRIGHT_ASSIGN(Shape shape, reader.operandShape(firstIndex + dim));
      if (shape.elementCount() != 1 || !numerics::isInteger(index.element))
        return reader.failure("indices must be integer scalars, got ", typeString(index));
      const int64_t last = operand[static_cast<int64_t>(dim)] - sizes[dim];
      if (sizes[dim] < 0 || last < 0)
        return reader.failure("dimension ", dim, " of size ", operand[static_cast<int64_t>(dim)],
                              " cannot hold a slice of ", sizes[dim]);
      start.dims.push_back({index.element, last, strides[dim] * bytes});
    }
    return start;
  }

  /// The offset in bytes from the operand's first element.
  int64_t offset(std::span<const std::byte *const> operands) const {
    int64_t offset = 0;
    for (size_t dim = 0; dim < dims.size(); ++dim) {
      const int64_t index = indexFrom(dims[dim].type, operands[firstIndex + dim]);
      offset += std::clamp<int64_t>(index, 0, dims[dim].last) * dims[dim].stride;
    }
    return offset;
  }

private:
  struct Dim {
    ElementType type;
    int64_t last, stride;
  };
  std::vector<Dim> dims;
  size_t firstIndex = 0;
};

class DynamicSliceKernel final : public LibraryKernel {
public:
  DynamicSliceKernel(BoxStart start, CopyPlan plan)
      : start(std::move(start)), plan(std::move(plan)) {}
  Status run(const LibraryRun &run) const override {
    plan.run(run.operands[0] + start.offset(run.operands), run.results[0], run.pool);
    return Status();
  }

private:
  BoxStart start;
  CopyPlan plan;
};

class DynamicUpdateSliceKernel final : public LibraryKernel {
public:
  DynamicUpdateSliceKernel(BoxStart start, CopyPlan whole, CopyPlan update)
      : start(std::move(start)), whole(std::move(whole)), update(std::move(update)) {}
  Status run(const LibraryRun &run) const override {
    const int64_t offset = start.offset(run.operands);
    if (run.operands[0] != run.results[0])
      whole.run(run.operands[0], run.results[0], run.pool);
    update.run(run.operands[1], run.results[0] + offset, run.pool);
    return Status();
  }

private:
  BoxStart start;
  CopyPlan whole, update;
};
} // namespace

KernelResult prepareDynamicSlice(const artifact::DynamicSliceCall &call,
                                 const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_ASSIGN(Shape operand, reader.operandShape(0));
  TILEWRIGHT_TRY(reader.expectCounts(1 + static_cast<size_t>(operand.rank()), 1));
  const Dims &sizes = call.sliceSizes;
  TILEWRIGHT_ASSIGN(BoxStart start, BoxStart::create(reader, operand, sizes, 1));
  TILEWRIGHT_TRY(reader.expectResult(0, types.operands[0].element, sizes));
  TILEWRIGHT_ASSIGN(Shape result, reader.resultShape(0));
  return makeKernel<DynamicSliceKernel>(
      std::move(start), CopyPlan(sizes, operand.strides(), result.strides(),
                                 numerics::storageBytes(types.operands[0].element)));
}

KernelResult prepareDynamicUpdateSlice(const artifact::DynamicUpdateSliceCall &call,
                                       const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_ASSIGN(Shape operand, reader.operandShape(0));
  TILEWRIGHT_TRY(reader.expectCounts(2 + static_cast<size_t>(operand.rank()), 1));
  TILEWRIGHT_ASSIGN(Shape update, reader.operandShape(1));
  const ElementType element = types.operands[0].element;
  if (types.operands[1].element != element)
    return reader.failure("operand and update must have the same element type, got ",
                          typeString(types.operands[0]), " and ", typeString(types.operands[1]));
  TILEWRIGHT_ASSIGN(BoxStart start, BoxStart::create(reader, operand, update.dims(), 2));
  TILEWRIGHT_TRY(reader.expectResult(0, element, operand.dims()));
  const size_t bytes = numerics::storageBytes(element);
  return makeKernel<DynamicUpdateSliceKernel>(
      std::move(start), CopyPlan(operand.dims(), operand.strides(), operand.strides(), bytes),
      CopyPlan(update.dims(), update.strides(), operand.strides(), bytes));
}

} // namespace tilewright::runtime::cpu
