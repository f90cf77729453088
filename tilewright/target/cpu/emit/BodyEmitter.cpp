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

void eachColumns(LaneBuilder &b, Value *columns, unsigned lanes,
                 function_ref<void(const Columns &)> step) {
  IRBuilder<> &ir = b.ir;
  Value *whole = ir.CreateUDiv(columns, b.i64(lanes));
  b.loop(whole, [&](Value *i) { step({ir.CreateMul(i, b.i64(lanes)), lanes, nullptr}); });
  Value *done = ir.CreateMul(whole, b.i64(lanes));
  Value *rest = ir.CreateSub(columns, done);
  if (!b.machine.hasMasks || lanes == 1) {
    b.loop(rest, [&](Value *i) { step({ir.CreateAdd(done, i), 1, nullptr}); });
    return;
  }
  Value *some = ir.CreateZExt(ir.CreateICmpSGT(rest, b.i64(0)), ir.getInt64Ty());
  b.loop(some, [&](Value *) {
    Type *narrow = b.vectorOf(ir.getInt32Ty(), lanes);
    step({done, lanes,
          ir.CreateICmpSLT(ir.CreateTrunc(b.laneNumbers(lanes), narrow),
                           b.splat(ir.CreateTrunc(rest, ir.getInt32Ty()), lanes))});
  });
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
