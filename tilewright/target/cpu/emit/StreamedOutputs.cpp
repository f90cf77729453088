#include "tilewright/target/cpu/emit/StreamedOutputs.h"

#include "tilewright/dialect/exec/ExecDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tilewright::cpu {

/// About the size of L3: the next reader of a smaller output finds a part of it there, and so does
/// the kernel itself when the program runs again. The runtime's library has the same limit
/// (runtime/cpu/library/movement/CopyRows.h).
static constexpr int64_t leastBytes = int64_t(32) << 20;

/// The memory slice of an operand or result of a launch; null if the plan has none.
static exec::SliceAttr sliceOf(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto slices = result.getOwner()->getAttrOfType<ArrayAttr>(exec::ExecDialect::slicesAttr);
    return slices ? dyn_cast<exec::SliceAttr>(slices[result.getResultNumber()]) : nullptr;
  }
  auto argument = cast<BlockArgument>(value);
  Region *region = argument.getOwner()->getParent();
  auto regions =
      region->getParentOp()->getAttrOfType<ArrayAttr>(exec::ExecDialect::argumentSlicesAttr);
  if (!regions)
    return nullptr;
  auto slices = cast<ArrayAttr>(regions[region->getRegionNumber()]);
  return dyn_cast<exec::SliceAttr>(slices[argument.getArgNumber()]);
}

static bool isStreamed(exec::LaunchOp launch, Value result) {
  exec::SliceAttr slice = sliceOf(result);
  if (!slice || launch.getInPlace())
    return false;
  return slice.getBytes() >= leastBytes &&
         llvm::none_of(launch.getInputs(), [&](Value input) { return sliceOf(input) == slice; });
}

llvm::StringMap<llvm::SmallDenseSet<unsigned>> streamedOutputs(ModuleOp module) {
  llvm::StringMap<llvm::SmallDenseSet<unsigned>> streamed;
  for (auto function : module.getOps<func::FuncOp>()) {
    function.walk([&](exec::LaunchOp launch) {
      auto [found, isNew] = streamed.try_emplace(launch.getKernel());
      for (OpResult result : launch.getResults()) {
        const unsigned number = result.getResultNumber();
        if (!isStreamed(launch, result))
          found->second.erase(number);
        else if (isNew)
          found->second.insert(number);
      }
    });
  }
  return streamed;
}

} // namespace tilewright::cpu
