#include "tilewright/target/cpu/emit/BodyEmitter.h"

#include "tilewright/target/lanes/RegionEmitter.h"

using namespace llvm;

namespace tilewright::cpu {

bool isBody(mlir::func::FuncOp function) {
  auto isScalar = [](mlir::Type type) {
    return type.isIntOrIndexOrFloat() || isa<mlir::ComplexType>(type);
  };
  return function.isPrivate() && !function.isExternal() && function.getBody().hasOneBlock() &&
         all_of(function.getArgumentTypes(), isScalar) &&
         all_of(function.getResultTypes(), isScalar) && function.getNumResults() > 0;
}

Function *beginFunction(LaneBuilder &b, mlir::func::FuncOp body, FunctionType *type) {
  Function *function =
      Function::Create(type, Function::ExternalLinkage, body.getSymName(), b.module);
  function->addFnAttr(Attribute::NoUnwind);
  if (function->getName() != body.getSymName()) // LLVM has renamed it
    b.fail(Status(Error::cpuCodegen,
                  "its name conflicts with another symbol in the object; rename it"));
  b.ir.SetInsertPoint(BasicBlock::Create(b.ir.getContext(), "", function));
  return function;
}

void emitBody(LaneBuilder &b, mlir::func::FuncOp body) {
  IRBuilder<> &ir = b.ir;
  Type *pointer = ir.getPtrTy();
  Function *function =
      beginFunction(b, body, FunctionType::get(ir.getVoidTy(), {pointer, pointer}, false));
  auto address = [&](unsigned list, unsigned number) {
    return ir.CreateLoad(pointer, ir.CreateConstGEP1_64(pointer, function->getArg(list), number));
  };
  SmallVector<Lanes> arguments;
  for (auto [number, type] : enumerate(body.getArgumentTypes()))
    arguments.push_back(b.load(type, address(0, unsigned(number)), b.i64(0), 1, nullptr));
  SmallVector<Lanes, 2> results = lanes::emitBlock(b, body.getBody().front(), arguments, 1);
  // Read all arguments before writing a result, because they may alias.
  for (auto [number, type] : enumerate(body.getResultTypes()))
    b.store(results[number], type, address(1, unsigned(number)), b.i64(0), nullptr);
  ir.CreateRetVoid();
}

} // namespace tilewright::cpu
