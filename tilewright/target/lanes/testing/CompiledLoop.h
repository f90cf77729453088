// For tests: compiles code for a machine without a C library, and runs it on this machine.
#ifndef TILEWRIGHT_TARGET_LANES_TESTING_COMPILEDLOOP_H
#define TILEWRIGHT_TARGET_LANES_TESTING_COMPILEDLOOP_H

#include "tilewright/target/lanes/Lanes.h"

#include "gtest/gtest.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/TargetSelect.h"

#include <memory>

namespace tilewright::lanes {

/// A loop over two arrays of inputs and one of results, which calls no function.
class CompiledLoop {
public:
  /// `emit` emits the code of one element: `body` has the arrays as its first three arguments.
  explicit CompiledLoop(
      llvm::function_ref<void(LaneBuilder &b, llvm::Function *body, llvm::Value *i)> emit) {
    constexpr Machine alone = {.hasFma = true, .hasHalf = true, .refusal = Error::cpuScalarOp};
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>("alone", *context);
    LaneBuilder b(*module, alone);
    llvm::Type *pointer = b.ir.getPtrTy();
    auto *type = llvm::FunctionType::get(b.ir.getVoidTy(),
                                         {pointer, pointer, pointer, b.ir.getInt64Ty()}, false);
    auto *body =
        llvm::Function::Create(type, llvm::Function::ExternalLinkage, "apply", module.get());
    b.ir.SetInsertPoint(llvm::BasicBlock::Create(*context, "", body));
    b.loop(body->getArg(3), [&](llvm::Value *i) { emit(b, body, i); });
    b.ir.CreateRetVoid();
    EXPECT_TRUE(b.failure.isOk()) << b.failure.toString();
    EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
    for (llvm::Function &f : *module)
      EXPECT_TRUE(!f.isDeclaration() || f.isIntrinsic()) << f.getName().str() << " is called";
    jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    llvm::cantFail(
        jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
    apply = llvm::cantFail(jit->lookup("apply")).toPtr<decltype(apply)>();
  }

  void operator()(const void *x, const void *y, void *out, size_t count) {
    apply(x, y, out, static_cast<int64_t>(count));
  }

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void (*apply)(const void *, const void *, void *, int64_t) = nullptr;
};

} // namespace tilewright::lanes

#endif // TILEWRIGHT_TARGET_LANES_TESTING_COMPILEDLOOP_H
