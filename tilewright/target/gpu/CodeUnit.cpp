#include "tilewright/target/gpu/CodeUnit.h"

#include "tilewright/target/lanes/Translate.h"

using namespace llvm;

namespace tilewright::gpu {

std::string symbolFor(StringRef name, StringSet<> &taken) {
  std::string symbol;
  for (char c : name)
    symbol += isAlnum(c) || c == '_' || c == '$' ? c : '_';
  if (symbol.empty() || isDigit(symbol[0]))
    symbol = "k_" + symbol;
  std::string unique = symbol;
  for (int i = 1; !taken.insert(unique).second; ++i)
    unique = concat(symbol, "_", i);
  return unique;
}

mlir::OwningOpRef<mlir::ModuleOp> moduleForKernels(mlir::ModuleOp module,
                                                   const TargetMachine &machine,
                                                   const mlir::DialectRegistry &registry) {
  mlir::MLIRContext *context = module.getContext();
  context->appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context->getOrLoadDialect(name);
  mlir::OwningOpRef<mlir::ModuleOp> made = mlir::ModuleOp::create(module.getLoc());
  mlir::Builder attributes(context);
  (*made)->setAttr(mlir::LLVM::LLVMDialect::getTargetTripleAttrName(),
                   attributes.getStringAttr(machine.getTargetTriple().str()));
  (*made)->setAttr(mlir::LLVM::LLVMDialect::getDataLayoutAttrName(),
                   attributes.getStringAttr(machine.createDataLayout().getStringRepresentation()));
  return made;
}

Status translateKernels(mlir::ModuleOp lowered, const lanes::Machine &machine, CodeUnit &unit,
                        function_ref<std::string(StringRef)> nameOf) {
  trace::Span span("compile", "translate kernels");
  lanes::Translation made = lanes::translate(lowered, unit.context, machine);
  unit.code = std::move(made.module);
  if (unit.code)
    return {};
  if (made.failure.isOk())
    return Status(Error::gpuCodegen,
                  concat("the lowered kernels cannot be translated to LLVM IR: ", made.problem));
  const std::string kernel = nameOf(made.function);
  return kernel.empty() ? std::move(made.failure)
                        : std::move(made.failure).during(concat("compiling kernel ", kernel));
}

} // namespace tilewright::gpu
