#include "tilewright/support/Concat.h"
#include "tilewright/target/cpu/Codegen.h"
#include "tilewright/target/cpu/emit/BodyEmitter.h"
#include "tilewright/target/cpu/emit/KernelEmitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace tilewright::cpu {

/// Everything of a kernel but its name: kernels with equal text are one.
static std::string fingerprintOf(tile::KernelOp kernel) {
  std::string text;
  raw_string_ostream stream(text);
  DenseMap<mlir::Value, unsigned> numbers;
  auto write = [&](const void *pointer) {
    stream.write(reinterpret_cast<const char *>(&pointer), sizeof(pointer));
  };
  write(kernel.getGridAttr().getAsOpaquePointer());
  write(kernel.getNumInputsAttr().getAsOpaquePointer());
  kernel.getBody().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    write(op->getName().getAsOpaquePointer());
    write(op->getAttrDictionary().getAsOpaquePointer());
    for (mlir::Value operand : op->getOperands())
      write(reinterpret_cast<void *>(uintptr_t(numbers.lookup(operand))));
    for (mlir::Type type : op->getResultTypes())
      write(type.getAsOpaquePointer());
    for (mlir::Value result : op->getResults())
      numbers.try_emplace(result, numbers.size() + 1);
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &block : region)
        for (mlir::BlockArgument argument : block.getArguments()) {
          write(argument.getType().getAsOpaquePointer());
          numbers.try_emplace(argument, numbers.size() + 1);
        }
  });
  for (mlir::BlockArgument argument : kernel.getBlock().getArguments())
    write(argument.getType().getAsOpaquePointer());
  return text;
}

static std::string textOf(const Module &module) {
  std::string text;
  raw_string_ostream(text) << module;
  return text;
}

Result<ObjectCode> generateObject(mlir::ModuleOp module, const Chip &chip,
                                  const CodegenOptions &options) {
  ObjectCode result;
  SmallVector<tile::KernelOp> kernels(module.getOps<tile::KernelOp>());
  SmallVector<mlir::func::FuncOp> bodies;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (isBody(function))
      bodies.push_back(function);
  if (kernels.empty() && bodies.empty())
    return result;

  TILEWRIGHT_ASSIGN(std::unique_ptr<TargetMachine> machine, createTargetMachine(chip));
  LLVMContext context;
  Module code("kernels", context);
  code.setTargetTriple(machine->getTargetTriple());
  code.setDataLayout(machine->createDataLayout());
  code.setPICLevel(PICLevel::BigPIC);
  LaneBuilder builder(code, chip);
  StringMap<size_t> known; // fingerprint to the kernel that has the code
  for (tile::KernelOp kernel : kernels) {
    KernelInfo row;
    row.symbol = kernel.getSymName().str();
    row.grid = kernel.getPointCount();
    auto [found, isNew] = known.try_emplace(fingerprintOf(kernel), result.kernels.size());
    if (isNew) {
      KernelEmitter emitter(builder, kernel);
      emitter.emit(row.symbol);
      row.scratchBytes = emitter.scratchBytes;
      row.itemCost = emitter.itemCost;
    } else {
      const KernelInfo &same = result.kernels[found->second];
      Function *function = code.getFunction(same.symbol);
      GlobalAlias::create(row.symbol, function);
      row.scratchBytes = same.scratchBytes;
      row.itemCost = same.itemCost;
    }
    TILEWRIGHT_TRY(std::move(builder.failure).during(concat("compiling kernel ", row.symbol)));
    result.kernels.push_back(row);
  }
  for (mlir::func::FuncOp body : bodies) {
    emitBody(builder, body);
    TILEWRIGHT_TRY(
        std::move(builder.failure).during(concat("compiling body ", body.getSymName().str())));
    result.bodies.push_back(body.getSymName().str());
  }
  if (options.dump)
    options.dump("llvm", textOf(code));
#ifndef NDEBUG
  std::string problem;
  raw_string_ostream stream(problem);
  if (verifyModule(code, &stream))
    return Status(Error::cpuCodegen, concat("the code that was generated is malformed: ", problem));
#endif
  optimize(code, *machine);
  if (options.dump) {
    options.dump("llvm-optimized", textOf(code));
    options.dump("asm", emitAssembly(*CloneModule(code), *machine));
  }
  TILEWRIGHT_ASSIGN(result.bytes, emitObject(code, *machine));
  return result;
}

} // namespace tilewright::cpu
