#include "tilewright/target/lanes/Translate.h"

#include "tilewright/dialect/lane/LaneDialect.h"
#include "tilewright/target/lanes/RegionEmitter.h"
#include "tilewright/target/lanes/SourceLines.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Target/LLVMIR/LLVMTranslationInterface.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/TargetParser/Triple.h"

#include <optional>

using namespace llvm;

namespace tilewright::lanes {

namespace {

/// The state of one call of translate(). MLIR calls the dialect interface without any user state,
/// so the state is in a thread-local variable.
struct Current {
  const Machine &machine;
  std::optional<LaneBuilder> builder = std::nullopt;
  std::string function = {};
  /// The lines of the function being translated.
  mlir::LLVM::LLVMFuncOp owner = nullptr;
  std::optional<SourceLines> lines = std::nullopt;

  void enter(mlir::LLVM::LLVMFuncOp function) {
    if (owner == function)
      return;
    owner = function;
    lines.emplace(function);
  }
};
thread_local Current *current = nullptr;

/// Reads the registers of elements from a flat list of values: one value per element, two if it is
/// complex.
struct Registers {
  ArrayRef<Value *> flat;
  SmallVector<Lanes> take(mlir::TypeRange elements) {
    SmallVector<Lanes> all;
    for (mlir::Type element : elements) {
      Lanes lanes{flat.consume_front()};
      if (LaneBuilder::isComplex(element))
        lanes.imag = flat.consume_front();
      all.push_back(lanes);
    }
    return all;
  }
};

/// Converts `value` to the narrower float type `type`, which represents it exactly. If `value` is
/// the result of a conversion from that type, returns the operand of the conversion.
Value *narrowFloat(LaneBuilder &b, Value *value, Type *type) {
  if (auto *wide = dyn_cast<FPExtInst>(value); wide && wide->getOperand(0)->getType() == type)
    return wide->getOperand(0);
  return b.ir.CreateFPTrunc(value, type);
}

class LaneTranslation : public mlir::LLVMTranslationDialectInterface {
public:
  using LLVMTranslationDialectInterface::LLVMTranslationDialectInterface;

  LogicalResult convertOperation(mlir::Operation *op, IRBuilderBase &builder,
                                 mlir::LLVM::ModuleTranslation &translation) const override {
    if (!current)
      return op->emitError("lane ops are translated by lanes::translate() only");
    if (!current->builder)
      current->builder.emplace(*translation.getLLVMModule(), current->machine);
    LaneBuilder &b = *current->builder;
    b.ir.SetInsertPoint(builder.GetInsertBlock(), builder.GetInsertPoint());
    // SetInsertPoint() adopts the debug location of the instruction at that point, so restore the
    // right one.
    b.ir.SetCurrentDebugLocation(builder.getCurrentDebugLocation());
    if (auto map = mlir::dyn_cast<lane::MapOp>(op))
      convertMap(map, b, translation);
    else if (auto decode = mlir::dyn_cast<lane::DecodeOp>(op))
      translation.mapValue(decode.getResult(), b.decode(translation.lookupValue(decode.getStored()),
                                                        decode.getElement()));
    else if (auto encode = mlir::dyn_cast<lane::EncodeOp>(op))
      convertEncode(encode, b, translation);
    // Scalar code may end in a different block from the one where it began.
    builder.SetInsertPoint(b.ir.GetInsertBlock(), b.ir.GetInsertPoint());
    if (b.failure.isOk())
      return success();
    if (current->function.empty())
      current->function = op->getParentOfType<mlir::LLVM::LLVMFuncOp>().getName().str();
    return failure();
  }

  LogicalResult amendOperation(mlir::Operation *, ArrayRef<Instruction *> instructions,
                               mlir::NamedAttribute attribute,
                               mlir::LLVM::ModuleTranslation &) const override {
    if (attribute.getName() == lane::convergentAttr)
      for (Instruction *instruction : instructions)
        if (auto *call = dyn_cast<CallBase>(instruction)) {
          call->addFnAttr(Attribute::Convergent);
          call->addFnAttr(Attribute::NoUnwind);
          if (!cast<InlineAsm>(call->getCalledOperand())->hasSideEffects())
            call->setDoesNotAccessMemory();
        }
    return success();
  }

private:
  static void convertMap(lane::MapOp map, LaneBuilder &b,
                         mlir::LLVM::ModuleTranslation &translation) {
    mlir::Block &block = map.getBody().front();
    current->enter(map->getParentOfType<mlir::LLVM::LLVMFuncOp>());
    b.lineOf = [&translation, scope = b.ir.GetInsertBlock()->getParent()->getSubprogram()](
                   mlir::Location location) -> DILocation * {
      return scope ? translation.translateLoc((*current->lines)(location), scope) : nullptr;
    };
    const SmallVector<Value *> inputs = translation.lookupValues(map.getInputs());
    Registers registers{inputs};
    unsigned result = 0;
    while (result < map.getNumResults())
      for (Lanes lanes : emitBlock(b, block, registers.take(block.getArgumentTypes()), 1)) {
        translation.mapValue(map.getResult(result++), lanes.value);
        if (lanes.imag)
          translation.mapValue(map.getResult(result++), lanes.imag);
      }
  }

  static void convertEncode(lane::EncodeOp encode, LaneBuilder &b,
                            mlir::LLVM::ModuleTranslation &translation) {
    Value *value = translation.lookupValue(encode.getValue());
    Type *type = translation.convertType(encode.getType());
    translation.mapValue(encode.getResult(), type->isFloatingPointTy() && type != value->getType()
                                                 ? narrowFloat(b, value, type)
                                                 : b.encode(value, encode.getElement()));
  }
};

} // namespace

void registerTranslation(mlir::DialectRegistry &registry) {
  registry.insert<lane::LaneDialect>();
  registry.addExtension(+[](mlir::MLIRContext *, lane::LaneDialect *dialect) {
    dialect->addInterfaces<LaneTranslation>();
  });
}

Translation translate(mlir::ModuleOp module, LLVMContext &context, const Machine &machine) {
  Current here{machine};
  current = &here;
  Translation result;
  {
    mlir::ScopedDiagnosticHandler messages(module.getContext(), [&](mlir::Diagnostic &message) {
      result.problem = message.str();
      return success();
    });
#ifdef NDEBUG
    constexpr bool skipsVerifier = true;
#else
    constexpr bool skipsVerifier = false;
#endif
    result.module = mlir::translateModuleToLLVMIR(module, context, "kernels", skipsVerifier);
  }
  current = nullptr;
  if (here.builder && !here.builder->failure.isOk()) {
    result.failure = std::move(here.builder->failure);
    result.function = std::move(here.function);
    result.module = nullptr;
  }
  return result;
}

} // namespace tilewright::lanes
