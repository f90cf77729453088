// Emits the transposition of a tile in registers.
#include "tilewright/target/cpu/emit/LoopEmitter.h"

using namespace llvm;

namespace tilewright::cpu {

/// Transposes a square of vectors: in each step, the squares of `half` rows and columns at the
/// right of the diagonal are exchanged with those below it.
static void transpose(IRBuilder<> &ir, MutableArrayRef<Value *> rows) {
  const size_t size = rows.size();
  for (size_t half = size / 2; half > 0; half /= 2)
    for (size_t upper = 0; upper < size; ++upper) {
      if (upper & half)
        continue;
      const size_t lower = upper + half;
      SmallVector<int> left, right; // lanes of the upper row, then of the lower one
      for (size_t lane = 0; lane < size; ++lane) {
        left.push_back(static_cast<int>(lane & half ? size + lane - half : lane));
        right.push_back(static_cast<int>(lane & half ? size + lane : lane + half));
      }
      Value *first = ir.CreateShuffleVector(rows[upper], rows[lower], left);
      rows[lower] = ir.CreateShuffleVector(rows[upper], rows[lower], right);
      rows[upper] = first;
    }
}

bool LoopEmitter::emitTransposed() {
  mlir::Value tile = group.roots.front().kept;
  tile::LoadOp load = tile && !group.roots.front().op ? transposedLoad(tile) : nullptr;
  if (!load || row)
    return false;
  mlir::MLIRContext *context = kernel.kernel.getContext();
  sizes.assign(group.shape.begin(), group.shape.end());
  auto view = cast<tile::ViewOp>(tile.getDefiningOp());
  const Access from = loadAccess(load, view.getMap());
  const mlir::AffineMap identity =
      mlir::AffineMap::getMultiDimIdentityMap(static_cast<unsigned>(sizes.size()), context);
  const Access to = bufferAccess(tile, identity);
  const size_t last = sizes.size() - 1, across = view.getMap().getDimPosition(unsigned(last));
  if (!from.checks.empty() || !from.form.rest.empty() || from.form.coefficients[across] != 1)
    return false;
  const Home home = targets.count(tile) ? targets[tile] : kernel.newHome(tile);
  if (!home.buffer)
    return false;

  const int64_t elementBytes = lanes::storageBytes(from.type);
  Type *element = b.ir.getIntNTy(unsigned(elementBytes) * 8);
  int64_t size = transposedBlock; // a vector of the machine, if it has fewer lanes
  while (size * elementBytes > int64_t(b.machine.vectorBytes) && size > 2)
    size /= 2;
  Type *vector = FixedVectorType::get(element, unsigned(size));
  const Align align{uint64_t(elementBytes)};
  Value *memory = kernel.pointerTo(load.getSource());
  Value *origin = b.i64(from.form.constant);
  for (auto [offset, stride] : from.offsets)
    origin =
        b.ir.CreateAdd(origin, b.ir.CreateMul(kernel.scalars.lookup(offset).value, b.i64(stride)));
  auto advance = [&](Value *index, const Access &access, size_t dim, Value *by) {
    return b.ir.CreateAdd(index, b.ir.CreateMul(by, b.i64(access.form.coefficients[dim])));
  };
  auto pointer = [&](Value *base, Value *index, int64_t distance) {
    return b.ir.CreateGEP(element, base, b.ir.CreateAdd(index, b.i64(distance)));
  };
  auto emitBlock = [&](Value *source, Value *target) {
    SmallVector<Value *> rows;
    for (int64_t i = 0; i < size; ++i)
      rows.push_back(b.ir.CreateAlignedLoad(
          vector, pointer(memory, source, i * from.form.coefficients[last]), align));
    transpose(b.ir, rows);
    for (int64_t i = 0; i < size; ++i)
      b.ir.CreateAlignedStore(
          rows[size_t(i)], pointer(home.buffer, target, i * to.form.coefficients[across]), align);
  };
  std::function<void(size_t, Value *, Value *)> emitLoops = [&](size_t dim, Value *source,
                                                                Value *target) {
    if (dim == sizes.size())
      return emitBlock(source, target);
    const bool isBlocked = dim == last || dim == across;
    b.loop(b.i64(isBlocked ? sizes[dim] / size : sizes[dim]), [&](Value *iv) {
      Value *index = isBlocked ? b.ir.CreateMul(iv, b.i64(size)) : iv;
      emitLoops(dim + 1, advance(source, from, dim, index), advance(target, to, dim, index));
    });
  };
  emitLoops(0, origin, b.i64(0));
  kernel.homes[tile] = home;
  double items = 1;
  for (int64_t each : sizes)
    items *= double(each);
  kernel.nanoseconds += kernel.repeats * items / double(size); // a load, a store, four shuffles
  return true;
}

} // namespace tilewright::cpu
