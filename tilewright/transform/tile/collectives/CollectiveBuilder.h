// CollectiveBuilder: emits the parts that make up collective kernels. Only for this folder.
#ifndef TILEWRIGHT_TRANSFORM_TILE_COLLECTIVES_COLLECTIVEBUILDER_H
#define TILEWRIGHT_TRANSFORM_TILE_COLLECTIVES_COLLECTIVEBUILDER_H

#include "tilewright/transform/tile/collectives/BuildCollective.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"

namespace tilewright::tile {

class CollectiveBuilder {
public:
  using Value = mlir::Value;
  CollectiveBuilder(mlir::ModuleOp module, const CollectiveKernel &wanted);

  /// Whether kernels, and whether the interconnect, can combine elements of this type.
  static bool combines(numerics::ElementType type, numerics::ReductionKind operation);
  static bool interconnectCombines(numerics::ElementType type, numerics::ReductionKind operation);

  const CollectiveKernel &wanted;
  mlir::OpBuilder b;
  mlir::Location loc;
  KernelOp kernel;

protected:
  // --- Parameters: the first is the kernel's input, the others are written ---
  Value plain(llvm::ArrayRef<int64_t> shape, mlir::Type type = nullptr);
  Value window(llvm::ArrayRef<int64_t> partShape, mlir::Type type = nullptr);
  /// The type of signals and flags.
  mlir::Type wordType() { return isOnHeap ? b.getI64Type() : b.getI32Type(); }
  Value addSignals();
  void finishArguments();

  // --- Sizes ---
  int64_t elementBytes() const;
  /// The elements that a block moves at once: 16 bytes of each thread.
  int64_t tileElements() const;
  /// The count, rounded up to whole 16-byte accesses.
  int64_t paddedCount() const;

  // --- Indices ---
  Value constant(int64_t value);
  Value index(mlir::AffineExpr expr, llvm::ArrayRef<Value> dims);
  Value point() { return kernel.getCoordinates()[0]; }
  Value rankOf(Value window);
  /// The number of this point among the points of all ranks, in an order in which neighbours are on
  /// different ranks.
  Value workerOf(Value me);
  /// `worker` on one rank; on the others, a number that no loop reaches.
  Value onlyOn(Value me, int64_t rank, Value worker);
  /// An i64 of memory, as an index.
  Value element(Value memory, llvm::ArrayRef<Value> offsets);
  Value smaller(Value left, Value right);
  /// The largest of `count` indices; 0 if all are negative.
  Value largest(int64_t count, llvm::function_ref<Value(Value number)> each);

  // --- Loops ---
  void forEach(Value from, Value to, llvm::function_ref<void(Value)> body, int64_t step = 1);
  /// All ranks, beginning with this one, so that ranks do not all send to the same one.
  void forPeers(Value me, llvm::function_ref<void(Value peer)> body);
  /// The tiles of `count` elements that belong to one of `workers` workers: the offset and the size
  /// of each.
  void forTiles(Value worker, int64_t workers, int64_t count, int64_t tile,
                llvm::function_ref<void(Value offset, int64_t size)> body);

  // --- Tiles ---
  Value load(Value from, llvm::ArrayRef<Value> offsets, llvm::ArrayRef<int64_t> shape);
  void store(Value tile, Value to, llvm::ArrayRef<Value> offsets);
  /// The tile with dimensions of size 1 inserted or removed.
  Value view(Value tile, llvm::ArrayRef<int64_t> shape);
  Value zeros(llvm::ArrayRef<int64_t> shape, mlir::Type type = nullptr);
  /// An index as the only element of a tile of integers.
  Value tileOf(Value index, llvm::ArrayRef<int64_t> shape, mlir::Type type);
  /// Combines what `part` returns for each rank, in the order of ranks.
  Value combineParts(llvm::function_ref<Value(Value rank)> part);
  Value reduceParts(Value window, llvm::ArrayRef<Value> offsets, llvm::ArrayRef<int64_t> shape);
  void storeParts(Value tile, Value window, llvm::ArrayRef<Value> offsets);
  /// Writes a tile to the same position of all parts, through the interconnect if the form requires
  /// it.
  void sendToAll(Value tile, Value window, Value me, llvm::ArrayRef<Value> offsets);
  void barrier(Value signals);

  /// Whether windows are on NVSHMEM's symmetric heap.
  bool isOnHeap = false;

private:
  Value combine(Value left, Value right);
  Value combineScalars(Value left, Value right);
  mlir::Type elementType;
};

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_COLLECTIVES_COLLECTIVEBUILDER_H
