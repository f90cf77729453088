// Emits one loop nest: the roots of a LoopGroup, vectorized along one loop.
#ifndef TILEWRIGHT_TARGET_CPU_EMIT_LOOPEMITTER_H
#define TILEWRIGHT_TARGET_CPU_EMIT_LOOPEMITTER_H

#include "tilewright/target/cpu/emit/IndexForm.h"
#include "tilewright/target/cpu/emit/KernelEmitter.h"

namespace tilewright::cpu {

/// Emits values at the outermost loop level that they depend on. The level of a value is the number
/// of loops around it.
class LoopEmitter {
public:
  LoopEmitter(KernelEmitter &kernel, const LoopGroup &group)
      : kernel(kernel), b(kernel.b), group(group) {}

  /// Where stored roots are placed (KernelEmitter::Home); roots that are not listed get new memory.
  llvm::DenseMap<mlir::Value, KernelEmitter::Home> targets;

  /// The condition under which a store is in bounds along a dimension: index < size - offset.
  /// Always in bounds if `offset` is null.
  struct Bound {
    mlir::Value offset;
    int64_t size = 0;
  };
  /// If a loop around the whole group runs over dimension 0: its induction variable, and its bound.
  llvm::Value *row = nullptr;
  Bound boundOfRows;
  /// The bound on dimension 0 that all stores of all groups share, if any.
  static Bound rowBound(llvm::ArrayRef<LoopGroup> groups);

  void emit();

private:
  using Value = llvm::Value;
  using Home = KernelEmitter::Home;

  /// A loop over adjacent dimensions that all accesses can merge.
  struct Loop {
    unsigned dim; // innermost of its dimensions; its coefficient is the loop's
    int64_t size;
    bool isReduced = false, isVector = false, isOutside = false;
    Value *bound = nullptr; // fewer iterations, known at run time
    Value *iv = nullptr;
  };
  struct Level {
    llvm::Instruction *before = nullptr; // insertion point for values of this level
  };
  /// The value of a tile at an index.
  struct Element {
    Lanes lanes;
    unsigned level = 0;
    bool isVector = false;
    /// For a vector of consecutive integers: the first one.
    Value *first = nullptr;
  };
  /// The emitted value of an IndexForm. For vectors, it has either a stride between lanes or a
  /// vector of indices.
  struct LaneIndex {
    Value *index = nullptr; // of the first lane; of all if `isGather`
    int64_t stride = 0;
    bool isGather = false;
    unsigned level = 0;
  };
  /// A bounds check of an access along one dimension of memory: offset + stride · index < size.
  struct Check {
    mlir::Value offset;
    int64_t stride;
    IndexForm form;
    int64_t size;
  };
  /// The elements of memory that a tile is read from or written to.
  struct Access {
    mlir::Type type;
    IndexForm form; // in elements
    llvm::SmallVector<std::pair<mlir::Value, int64_t>> offsets;
    llvm::SmallVector<Check> checks;
  };
  struct Accumulator {
    mlir::Operation *op;
    llvm::AllocaInst *value = nullptr, *imag = nullptr;
  };

  KernelEmitter &kernel;
  LaneBuilder &b;
  const LoopGroup &group;
  llvm::SmallVector<int64_t> sizes;    // of the dimensions that maps are over
  llvm::SmallVector<unsigned> origins; // the dimension of the group's shape that each is part of
  mlir::AffineMap base;                // from these to the group's shape
  /// If joinShortDimension() has joined two dimensions: the result, and the size of the inner one.
  std::optional<unsigned> joined;
  unsigned shortSize = 1;
  llvm::SmallVector<Loop> loops; // outermost first
  unsigned keptLoops = 0;        // loops outside all reductions, with the loop over row blocks
  /// If splitReduction() has split the reduced loop: the loop over blocks of rows, whose
  /// dimension is the reduced one, and the rows of a block.
  std::optional<unsigned> rowBlocks;
  static constexpr int64_t blockRows = 8;
  unsigned vectorLanes = 1;
  bool isMaskedLoop = false; // one loop with a masked last iteration, no tail
  bool isMasked = false;
  Value *laneMask = nullptr; // null: all lanes
  unsigned currentLevel = 0; // the level of side effects
  llvm::SmallVector<Level> levels;
  using Key = std::pair<mlir::Value, mlir::AffineMap>;
  llvm::DenseMap<Key, Element> memo;
  llvm::SmallVector<llvm::SmallVector<Key>> memoKeys; // for each level
  llvm::SmallVector<Bound> bounds; // for each dimension; offset null if there is none
  llvm::SmallVector<Accumulator> accumulators;

  /// If the group is a tile that transposedLoad() names: emits it and returns true (Transpose.cpp).
  bool emitTransposed();

  // --- Choice of loops (LoopShape.cpp) ---
  void splitDimensions();
  void joinShortDimension();
  void chooseLoops();
  void splitReduction(llvm::ArrayRef<Access> accesses);
  std::vector<Access> allAccesses();
  void boundLoops();
  mlir::AffineMap resultMap(const Root &root);
  Access loadAccess(tile::LoadOp load, mlir::AffineMap map);
  Access storeAccess(tile::StoreOp store, mlir::AffineMap map);
  Access bufferAccess(mlir::Value tile, mlir::AffineMap map);
  mlir::AffineMap composed(mlir::AffineMap map) { return simplifyMap(map.compose(base), sizes); }
  bool isImplied(const Check &check);
  int64_t bodyCost();
  unsigned elementBytes();

  // --- Emission (LoopEmitter.cpp) ---
  void emitNest(unsigned position);
  void emitLoop(unsigned position, Value *lower, Value *upper, int64_t step);
  void emitBody();
  void at(unsigned level) { b.ir.SetInsertPoint(levels[level].before); }

  // --- Values (Evaluate.cpp) ---
  Element evaluate(mlir::Value tile, mlir::AffineMap map, bool ignoreHome = false);
  Element evaluateMap(tile::MapOp op, mlir::Value result, mlir::AffineMap map);
  Element evaluateGather(tile::GatherOp op, mlir::AffineMap map);
  Element evaluateIota(tile::IotaOp op, mlir::AffineMap map);
  Element evaluateLoad(Value *base, const Access &access, mlir::Value padding);
  bool isRepeated(const Access &access);
  Element evaluateRepeatedLoad(Value *base, const Access &access);
  Lanes widened(Element element);
  LaneIndex emitIndex(const IndexForm &form);
  Value *emitExpr(mlir::AffineExpr expr, bool asVector);
  Element maskOf(llvm::ArrayRef<Check> checks);
  void remember(Key key, Element element);
  /// Drops the values that were emitted inside the loop at `level`, which ends here.
  void forget(unsigned level);
  void storeTo(Value *base, const Access &access, Lanes value, bool isStreamed = false);
  /// Whether the address of each vector of this access has the alignment that a non-temporal store
  /// requires.
  bool isAligned(const Access &access);

  // --- Combining (EmitReduce.cpp) ---
  bool hasAccumulators() const;
  bool vectorIsReduced() const;
  void startAccumulators();
  void finishAccumulators();
  void accumulate(const Root &root);
  llvm::SmallVector<Lanes> loadAccumulators(const Root &root);
  void storeAccumulators(const Root &root, llvm::ArrayRef<Lanes> values);
  Value *isFirst();
};

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_EMIT_LOOPEMITTER_H
