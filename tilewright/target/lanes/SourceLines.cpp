#include "tilewright/target/lanes/SourceLines.h"

#include "tilewright/dialect/lane/LaneDialect.h"
#include "tilewright/dialect/source/Source.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tilewright::lanes {

static LLVM::DIFileAttr fileOf(FileLineColLoc line) {
  StringRef path = line.getFilename().getValue();
  return LLVM::DIFileAttr::get(line.getContext(), llvm::sys::path::filename(path),
                               llvm::sys::path::parent_path(path));
}

SourceLines::SourceLines(LLVM::LLVMFuncOp function) {
  if (auto scoped = dyn_cast<FusedLocWith<LLVM::DISubprogramAttr>>(function.getLoc()))
    this->function = scoped.getMetadata();
}

Location SourceLines::operator()(Location location) {
  auto [found, isNew] = known.try_emplace(location, UnknownLoc::get(location.getContext()));
  if (!isNew || !function)
    return found->second;
  if (FileLineColLoc line = source::lineOf(location)) {
    auto scope = LLVM::DILexicalBlockFileAttr::get(function, fileOf(line), /*discriminator=*/0);
    found->second = FusedLoc::get(location.getContext(), {line}, scope);
  }
  return found->second;
}

/// The first line of the ops of a function; null if none has one.
static FileLineColLoc firstLine(LLVM::LLVMFuncOp function) {
  FileLineColLoc first = source::lineOf(function.getLoc());
  function.walk([&](Operation *op) {
    if (!first)
      first = source::lineOf(op->getLoc());
    return first ? WalkResult::interrupt() : WalkResult::advance();
  });
  return first;
}

void attachSourceLines(ModuleOp module, LineEmission emission) {
  MLIRContext *context = module.getContext();
  LLVM::DICompileUnitAttr unit; // one for all functions
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    FileLineColLoc first = firstLine(function);
    if (!first)
      continue;
    LLVM::DIFileAttr file = fileOf(first);
    auto distinct = [&] { return DistinctAttr::create(UnitAttr::get(context)); };
    if (!unit)
      unit = LLVM::DICompileUnitAttr::get(distinct(), llvm::dwarf::DW_LANG_Python, file,
                                          StringAttr::get(context, "tilewright"),
                                          /*isOptimized=*/true, emission);
    StringAttr name = function.getSymNameAttr();
    auto scope = LLVM::DISubprogramAttr::get(
        context, distinct(), unit, file, name, name, file, first.getLine(), first.getLine(),
        LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized,
        LLVM::DISubroutineTypeAttr::get(context, ArrayRef<LLVM::DITypeAttr>()),
        /*retainedNodes=*/{}, /*annotations=*/{});
    function->setLoc(FusedLoc::get(context, {first}, scope));
    SourceLines lines(function);
    function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      op->setLoc(lines(op->getLoc()));
      return isa<lane::MapOp>(op) ? WalkResult::skip() : WalkResult::advance();
    });
  }
}

} // namespace tilewright::lanes
