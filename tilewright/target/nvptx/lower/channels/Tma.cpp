// Bulk tensor copies (TMA): copies boxes of a tensor map to swizzled lines of shared memory, and
// plans the copies in both directions.
#include "tilewright/target/nvptx/lower/KernelLowering.h"

#include "tilewright/support/Concat.h"

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;

/// A dimension of a buffer for TMA: in each of `ctas` CTAs, `outer` runs of `inner` elements;
/// `stride` is the distance between runs, `innerStride` between elements.
struct BufferDim {
  int64_t ctas = 1, outer = 1, stride = 0, inner = 1, innerStride = 1;
  int64_t perCta() const { return outer * inner; }
};

/// Parses the digits of a dimension: an optional CTA digit, then offset digits, of which contiguous
/// ones are merged.
static std::optional<BufferDim> readDim(ArrayRef<sm::Digit> digits) {
  BufferDim dim;
  SmallVector<sm::Digit> offsets;
  for (const sm::Digit &digit : digits) {
    if (digit.axis == Axis::cta && offsets.empty() && dim.ctas == 1)
      dim.ctas = digit.size;
    else if (digit.axis == Axis::offset && !offsets.empty() &&
             offsets.back().stride == digit.size * digit.stride)
      offsets.back() = {offsets.back().size * digit.size, Axis::offset, digit.stride};
    else if (digit.axis == Axis::offset)
      offsets.push_back(digit);
    else
      return std::nullopt;
  }
  if (offsets.empty() || offsets.size() > 2)
    return std::nullopt;
  dim.inner = offsets.back().size;
  dim.innerStride = offsets.back().stride;
  if (offsets.size() == 2) {
    dim.outer = offsets.front().size;
    dim.stride = offsets.front().stride;
  }
  return dim;
}

std::optional<TmaLowering::Lines> TmaLowering::linesOf(sm::BufferType buffer, size_t in) {
  const sm::Layout &layout = buffer.getLayout().getValue();
  if (layout.rank() != 2)
    return std::nullopt;
  // Elements smaller than a byte occupy a whole byte.
  const int64_t bytes = std::max<int64_t>(1, buffer.getElementType().getIntOrFloatBitWidth() / 8);
  std::optional<BufferDim> inner = readDim(layout.getDims()[in]),
                           outer = readDim(layout.getDims()[1 - in]);
  const int64_t innerBytes = inner ? inner->inner * bytes : 0;
  const bool isShort = innerBytes == 64 || innerBytes == 32 || innerBytes == 16;
  const int64_t line = isShort ? inner->inner : 128 / bytes;
  SmallVector<sm::Flip> swizzle;
  for (unsigned bit = 0; bit < Log2_64(uint64_t(line * bytes / 16)); ++bit)
    swizzle.push_back({Axis::offset, int64_t(Log2_64(uint64_t(128 / bytes))) + bit, Axis::offset,
                       int64_t(Log2_64(uint64_t(16 / bytes))) + bit});
  if (!inner || !outer || inner->innerStride != 1 || inner->inner != line ||
      outer->innerStride != line || outer->outer != 1 ||
      !(layout.getFlips() == ArrayRef(swizzle) ||
        (bytes == 1 && layout.getFlips().empty() && inner->outer == 1)))
    return std::nullopt;
  const int64_t copies = layout.copyCount(Axis::cta);
  if (copies * inner->ctas * outer->ctas != kernel.clusterSize() ||
      (copies > 1 && copies != kernel.clusterSize()))
    return std::nullopt;
  return Lines{!layout.getFlips().empty(),
               outer->inner,
               inner->perCta(),
               line,
               inner->stride * bytes,
               inner->ctas > 1 ? inner->perCta() : 0,
               outer->ctas > 1 ? outer->perCta() : 0};
}

/// Divides the rows of a copy among the CTAs that copy them, along the outermost dimension, and
/// orders the dimensions of memory such that the boxes' rows are in the buffer's order. `rows` are
/// then those of one box. Returns false after it has refused the copy.
bool TmaLowering::planRows(sm::CopyOp copy, const Lines &lines, CopyPlan &plan,
                           SmallVectorImpl<sm::CopyOp::RowDim> &rows) {
  auto no = [&](std::string_view why) {
    kernel.refuse(copy, why);
    return false;
  };
  const bool isStore = isa<sm::BufferType>(copy.getSource().getType());
  mlir::Value whole = isStore ? copy.getTarget() : copy.getSource();
  auto buffer = cast<sm::BufferType>((isStore ? copy.getSource() : copy.getTarget()).getType());
  const auto rank = size_t(cast<mlir::MemRefType>(whole.getType()).getRank());
  const sm::Layout &layout = buffer.getLayout().getValue();
  const int64_t copies = layout.copyCount(Axis::cta);
  if (isStore && copies > 1)
    return no(concat("stores a buffer that ", copies,
                     " CTAs hold copies of, which is not supported: ", layout.str()));
  if (lines.rows % copies != 0)
    return no(concat("cannot be multicast: its ", lines.rows, " rows are not divisible by the ",
                     copies, " CTAs that hold a copy: ", layout.str()));
  plan.isMulticast = copies > 1;
  plan.boxRows = lines.rows / copies;
  int64_t total = 1;
  for (const sm::CopyOp::RowDim &row : rows)
    total *= row.size;
  const int64_t parts = total / plan.boxRows;
  auto *first = find_if(rows, [](const auto &row) { return row.size > 1; });
  if (first == rows.end())
    first = rows.begin();
  if (first->size % parts != 0)
    return no(concat("divides ", first->size, " rows of dimension ", first->dim, " among ", parts,
                     " CTAs"));
  first->size /= parts;
  for (const sm::CopyOp::RowDim &row : rows)
    if (row.size * row.stride > 256 || row.stride > 8 || (isStore && row.stride > 1))
      return no(
          concat("has ", row.size, " rows with a stride of ", row.stride,
                 ", but a TMA box spans at most 256 and a stride is at most 8 (1 in stores)"));
  plan.order.push_back(rank - 1);
  if (!is_sorted(rows, [](const auto &a, const auto &b) { return a.dim < b.dim; }))
    for (const sm::CopyOp::RowDim &row : reverse(rows))
      plan.order.push_back(size_t(row.dim));
  for (size_t dim = rank - 1; dim-- > 0;)
    if (!is_contained(plan.order, dim))
      plan.order.push_back(dim);
  plan.outer = size_t(find(plan.order, size_t(first->dim)) - plan.order.begin());
  plan.outerPerCta = lines.outerPerCta ? first->size * first->stride : 0;
  plan.multicastStep = plan.isMulticast ? first->size * first->stride : 0;
  return true;
}

std::optional<TmaLowering::CopyPlan> TmaLowering::planCopy(sm::CopyOp copy) {
  auto no = [&](std::string_view why) -> std::optional<CopyPlan> {
    kernel.refuse(copy, why);
    return std::nullopt;
  };
  auto bufferOf = [](Value value) {
    return value ? dyn_cast<sm::BufferType>(value.getType()) : sm::BufferType();
  };
  // The copy is from global memory to a buffer, or from a buffer to global memory.
  const bool isStore = bool(bufferOf(copy.getSource()));
  sm::BufferType buffer = bufferOf(isStore ? copy.getSource() : copy.getTarget());
  Value whole = isStore ? copy.getTarget() : copy.getSource();
  auto memoryType = whole ? dyn_cast<mlir::MemRefType>(whole.getType()) : mlir::MemRefType();
  if (copy.getEngine() != sm::Engine::tma || !buffer || !memoryType ||
      buffer.getShape().size() != 2)
    return no("must be a tma copy of a matrix between memory and a buffer, or a stmatrix copy (the "
              "GPU target supports nothing else)");
  const sm::Layout &layout = buffer.getLayout().getValue();
  const int64_t bytes = std::max<int64_t>(1, buffer.getElementType().getIntOrFloatBitWidth() / 8);
  const size_t rank = memoryType.getShape().size();
  if (copy.getDims() && copy.getDims()->back() != int64_t(rank) - 1)
    return no("must copy along the contiguous dimension of memory");
  // Find the lines along the dimension that is contiguous in memory.
  std::optional<Lines> lines = linesOf(buffer, copy.getTransposed() ? 0 : 1);
  if (!lines)
    return no(concat("must have a buffer of swizzled lines of 128, 64, 32 or 16 bytes in ",
                     kernel.clusterSize(), " CTAs, got ", layout.str()));
  const int64_t line = lines->line;
  CopyPlan plan;
  SmallVector<sm::CopyOp::RowDim> rows = copy.getRowDims();
  if (!planRows(copy, *lines, plan, rows))
    return std::nullopt;
  plan.boxes = lines->columns / line;
  plan.boxBytes = lines->stride;
  plan.line = line;
  plan.innerPerCta = lines->innerPerCta;
  // In the tensor map, dimension 0 is the contiguous one.
  TensorMapInfo map;
  map.argument =
      cast<mlir::BlockArgument>(whole).getArgNumber() - int64_t(kernel.op.getGrid().size());
  map.elementType =
      copy.getTf32() ? mlir::FloatTF32Type::get(copy.getContext()) : buffer.getElementType();
  if (buffer.getElementType().getIntOrFloatBitWidth() < 8)
    map.elementType = mlir::IntegerType::get(map.elementType.getContext(), 8);
  plan.lineBytes = line * bytes;
  map.swizzleBytes = lines->isSwizzled ? plan.lineBytes : 16; // chunks of 16 bytes are not moved
  SmallVector<int64_t> byteStrides(rank, bytes);
  for (size_t dim = rank - 1; dim-- > 0;)
    byteStrides[dim] = byteStrides[dim + 1] * memoryType.getShape()[dim + 1];
  for (auto [i, dim] : enumerate(plan.order)) {
    const auto *row = find_if(rows, [&](const auto &other) { return size_t(other.dim) == dim; });
    const bool isRow = row != rows.end();
    map.dims.push_back(memoryType.getShape()[dim]);
    map.elementStrides.push_back(isRow ? row->stride : 1);
    map.box.push_back(i == 0 ? line : isRow ? row->size * row->stride : 1);
    if (i > 0)
      map.byteStrides.push_back(byteStrides[dim]);
  }
  auto found = llvm::find(tensorMaps, map);
  plan.map = size_t(found - tensorMaps.begin());
  if (found == tensorMaps.end())
    tensorMaps.push_back(map);
  return plan;
}

void TmaLowering::plan() {
  kernel.op.getBody().walk([&](sm::CopyOp copy) {
    if (copy.getEngine() != sm::Engine::tma)
      return;
    if (std::optional<CopyPlan> plan = planCopy(copy))
      copyPlans[copy] = *plan;
  });
}

Value TmaLowering::tensorMapOf(const CopyPlan &plan) {
  return kernel.function.getArgument(
      unsigned(kernel.op.getBlock().getNumArguments() - kernel.op.getGrid().size() + plan.map));
}

SmallVector<Value> TmaLowering::coordinates(const CopyPlan &plan, mlir::ValueRange offsets) {
  // Convert the coordinate to 32 bits, as TMA requires.
  SmallVector<Value> at;
  for (size_t dim : plan.order)
    at.push_back(b.trunc(kernel.scalars.lookup(offsets[dim]).value, b.i32Type));
  if (plan.innerPerCta)
    at[0] = b.add(at[0], b.mul(kernel.ctaRank(), b.i32(plan.innerPerCta)));
  if (plan.outerPerCta)
    at[plan.outer] = b.add(at[plan.outer], b.mul(kernel.ctaRank(), b.i32(plan.outerPerCta)));
  return at;
}

void TmaLowering::copy(sm::CopyOp copy) {
  auto found = copyPlans.find(copy);
  if (found == copyPlans.end())
    return; // refused before
  const CopyPlan &plan = found->second;
  if (isa<sm::BufferType>(copy.getSource().getType()))
    return all.stores.store(copy, plan);
  SlotBuffer target = kernel.buffers[copy.getTarget()];
  SmallVector<Value> at = coordinates(plan, copy.getSourceOffsets());
  Value address = target.address;
  if (plan.isMulticast) {
    // Each CTA multicasts its share of the rows to the whole cluster.
    Value rows = b.mul(kernel.ctaRank(), b.i32(plan.boxRows));
    Value step = plan.multicastStep == plan.boxRows
                     ? rows
                     : b.mul(kernel.ctaRank(), b.i32(plan.multicastStep));
    at[plan.outer] = b.add(at[plan.outer], step);
    address = b.add(address, b.mul(rows, b.i32(plan.lineBytes)));
  }
  // The first CTA of a pair waits for the copies of both.
  auto acquire = copy.getTarget().getDefiningOp<sm::AcquireOp>();
  const bool isPair =
      kernel.clusterSize() > 1 && acquire && isReadByTensorProducts(acquire.getChannel());
  Value signalled = target.barrier;
  if (isPair)
    signalled =
        b.pureAssembly(b.i32Type, "mapa.shared::cluster.u32 $0, $1, 0;", "=r,r", {signalled});
  Value map = tensorMapOf(plan), barrier = b.sharedPointer(signalled);
  Value everyCta = plan.isMulticast ? b.i16((1 << kernel.clusterSize()) - 1) : Value();
  for (int64_t box = 0; box < plan.boxes; ++box) {
    SmallVector<Value> boxAt = at;
    if (box)
      boxAt[0] = b.add(at[0], b.i32(box * plan.line));
    Value to = box ? b.add(address, b.i32(box * plan.boxBytes)) : address;
    b.make<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(
        b.sharedPointer(to, /*space=*/7), map, boxAt, barrier, /*im2colOffsets=*/mlir::ValueRange(),
        everyCta, /*l2CacheHint=*/Value(), NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
        isPair ? NVVM::CTAGroupKindAttr::get(b.op.getContext(), NVVM::CTAGroupKind::CTA_2)
               : NVVM::CTAGroupKindAttr(),
        /*predicate=*/Value());
  }
}

} // namespace tilewright::nvptx
