#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/schedule/BufferClasses.h"
#include "tilewright/transform/schedule/PackArena.h"
#include "tilewright/transform/schedule/Passes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright::schedule {

#define GEN_PASS_DEF_ASSIGNBUFFERSPASS
#include "tilewright/transform/schedule/Passes.h.inc"

namespace {

constexpr int64_t align(int64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

/// The allocations of one function and the slice of each value. The allocations are the parameters,
/// the results, one for all constants and one for the arena.
class Places {
public:
  Places(func::FuncOp function, BufferClasses &classes) : function(function), classes(classes) {
    for (Attribute constant : classes.constants()) {
      constantOffsets.push_back(constantBytes);
      constantBytes += align(bytesOf(cast<TypedAttr>(constant).getType()));
    }
    std::vector<ArenaBuffer> buffers;
    std::vector<SpareMemory> spare(function.getNumResults());
    std::vector<unsigned> owners;
    for (unsigned id = 0; id < classes.size(); ++id) {
      if (!classes.isRepresentative(id))
        continue;
      const BufferClasses::Class &place = classes.at(id);
      if (place.storage == BufferClasses::Storage::temporary) {
        buffers.push_back({place.bytes, place.hull()});
        owners.push_back(id);
      } else if (place.storage == BufferClasses::Storage::result &&
                 isDeviceMemory(static_cast<unsigned>(place.index))) {
        // Nothing uses the memory of a result before it is written, except the memory of a donated
        // parameter, which is in use from the start.
        spare[place.index] = {place.bytes, place.hull().begin};
      }
    }
    arenaBytes = packArena(buffers, spare);
    for (auto [owner, buffer] : llvm::zip(owners, buffers)) {
      temporaries[owner] = {buffer.spare, buffer.offset};
      if (buffer.bytes > 0 && buffer.spare < 0)
        arena.append(
            {buffer.offset, align(buffer.bytes), buffer.interval.begin, buffer.interval.end});
    }
  }

  ArrayAttr allocations() {
    MLIRContext *context = function.getContext();
    SmallVector<Attribute> all;
    auto add = [&](StringRef storage, int64_t index, int64_t bytes) {
      all.push_back(exec::AllocationAttr::get(context, storage, index, bytes, /*space=*/0));
    };
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      add("parameter", i, bytesOf(type));
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      add("result", i, bytesOf(type));
    add("constant", 0, constantBytes);
    add("temporary", 0, arenaBytes);
    return ArrayAttr::get(context, all);
  }

  Attribute sliceOf(Value value) {
    int64_t parameters = function.getNumArguments(), results = function.getNumResults();
    int64_t bytes = bytesOf(value.getType());
    const int64_t begin = offsetInRoot(value);
    auto slice = [&](int64_t allocation, int64_t offset) -> Attribute {
      return exec::SliceAttr::get(function.getContext(), allocation, offset + begin, bytes);
    };
    if (auto argument = parameterOf(value))
      return slice(argument.getArgNumber(), 0);
    const BufferClasses::Class &place = classes.of(value);
    switch (place.storage) {
    case BufferClasses::Storage::parameter:
      return slice(place.index, 0);
    case BufferClasses::Storage::result:
      return slice(parameters + place.index, 0);
    case BufferClasses::Storage::constant:
      return slice(parameters + results, constantOffsets[place.index]);
    case BufferClasses::Storage::temporary: {
      auto [spare, offset] = temporaries.lookup(classes.idFor(value));
      return slice(spare < 0 ? parameters + results + 1 : parameters + spare, offset);
    }
    }
    llvm_unreachable("no other storage");
  }

  int64_t arenaSize() const { return arenaBytes; }
  /// See arenaAttr.
  ArrayRef<int64_t> arenaBuffers() const { return arena; }

private:
  /// The parameter that `value` is a view of; null if there is none. A claimed parameter is in the
  /// buffer class of a result, but is read from the caller's memory.
  BlockArgument parameterOf(Value value) {
    auto argument = dyn_cast<BlockArgument>(rootOf(value));
    return argument && argument.getOwner() == &function.getBody().front() ? argument
                                                                          : BlockArgument();
  }

  bool isDeviceMemory(unsigned result) const {
    auto kind = function.getResultAttrOfType<StringAttr>(result, "mhlo.memory_kind");
    return !kind || kind.getValue() == "device";
  }

  mutable func::FuncOp function;
  BufferClasses &classes;
  SmallVector<int64_t> constantOffsets;
  int64_t constantBytes = 0, arenaBytes = 0;
  /// For each temporary: the result whose memory it uses, or -1 for the arena; and its offset.
  llvm::DenseMap<unsigned, std::pair<int64_t, int64_t>> temporaries;
  SmallVector<int64_t> arena;
};

struct AssignBuffers : impl::AssignBuffersPassBase<AssignBuffers> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    // Bodies of kernels and scalar functions have no plan.
    if (function.isPrivate() || function.isExternal())
      return;
    Lifetimes lifetimes(function);
    BufferClasses classes(function, lifetimes);
    Places places(function, classes);
    TILEWRIGHT_LOG(getArgument(), function, "needs an arena of ", places.arenaSize(),
                   " bytes; number of temporary buffers: ", places.arenaBuffers().size() / 4);

    auto slicesOf = [&](ValueRange values) -> Attribute {
      SmallVector<Attribute> slices;
      for (Value value : values)
        slices.push_back(places.sliceOf(value));
      return ArrayAttr::get(&getContext(), slices);
    };
    function->setAttr(exec::ExecDialect::allocationsAttr, places.allocations());
    function->setAttr(arenaAttr, DenseI64ArrayAttr::get(&getContext(), places.arenaBuffers()));
    function->setAttr(exec::ExecDialect::argumentSlicesAttr,
                      ArrayAttr::get(&getContext(), {slicesOf(function.getArguments())}));
    auto annotate = [&](auto &&self, Block &block) -> void {
      for (Operation &op : block) {
        if (op.getNumResults() > 0)
          op.setAttr(exec::ExecDialect::slicesAttr, slicesOf(op.getResults()));
        if (!isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op))
          continue;
        SmallVector<Attribute> regions;
        for (Region &region : op.getRegions()) {
          regions.push_back(slicesOf(region.getArguments()));
          self(self, region.front());
        }
        op.setAttr(exec::ExecDialect::argumentSlicesAttr, ArrayAttr::get(&getContext(), regions));
      }
    };
    annotate(annotate, function.getBody().front());
  }
};

} // namespace
} // namespace tilewright::schedule
