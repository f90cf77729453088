#include "tilewright/target/amdgcn/Codegen.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/amdgcn/PackPairs.h"
#include "tilewright/target/codegen/CodeGenerator.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Metadata.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Vectorize/SLPVectorizer.h"

using namespace llvm;

namespace tilewright::amdgcn {

Result<std::unique_ptr<TargetMachine>> createTargetMachine(const Chip &chip) {
  codegen::registerTarget<LLVMInitializeAMDGPUTargetInfo, LLVMInitializeAMDGPUTarget,
                          LLVMInitializeAMDGPUTargetMC, LLVMInitializeAMDGPUAsmPrinter>();
  return codegen::createMachine({.triple = triple,
                                 .cpu = chip.name,
                                 // LLVM 22 reads select(c, x * y, 0) as c + x * y when it collects
                                 // products of bytes for v_dot4_u32_u8.
                                 .features = "-dot7-insts",
                                 .relocation = Reloc::PIC_,
                                 .failure = Error::gpuCodegen,
                                 .origin = " (AmdChips.def)"});
}

/// LLVM's number for the address space of LDS.
static constexpr unsigned ldsSpace = 3;

/// Values that the driver would pass beside the parameters. Our kernels read none of them, so they
/// take no registers and no bytes of arguments.
static constexpr const char *unused[] = {
    "amdgpu-no-dispatch-ptr",    "amdgpu-no-queue-ptr",         "amdgpu-no-dispatch-id",
    "amdgpu-no-implicitarg-ptr", "amdgpu-no-hostcall-ptr",      "amdgpu-no-heap-ptr",
    "amdgpu-no-default-queue",   "amdgpu-no-completion-action", "amdgpu-no-multigrid-sync-arg",
    "amdgpu-no-lds-kernel-id",   "amdgpu-no-flat-scratch-init", "amdgpu-no-workitem-id-y",
    "amdgpu-no-workitem-id-z"};

/// Whether a function multiplies with block scales.
static bool hasScaledProduct(Function &function) {
  return any_of(instructions(function), [](const Instruction &instruction) {
    auto *call = dyn_cast<CallInst>(&instruction);
    return call && call->getIntrinsicID() == Intrinsic::amdgcn_mfma_scale_f32_16x16x128_f8f6f4;
  });
}

/// Whether a function's operands go through channels in LDS: only their copies use buffers.
static bool hasChannels(Function &function) {
  return any_of(instructions(function), [](const Instruction &instruction) {
    auto *call = dyn_cast<CallInst>(&instruction);
    return call && (call->getIntrinsicID() == Intrinsic::amdgcn_raw_ptr_buffer_load_lds ||
                    call->getIntrinsicID() == Intrinsic::amdgcn_raw_ptr_buffer_load);
  });
}

/// Whether a function computes with exponentials between products.
static bool isAttention(Function &function) {
  bool hasProduct = false, hasExponential = false;
  for (Instruction &instruction : instructions(function))
    if (auto *call = dyn_cast<CallInst>(&instruction)) {
      const Function *callee = call->getCalledFunction();
      hasProduct |= callee && callee->getName().starts_with("llvm.amdgcn.mfma");
      hasExponential |= call->getIntrinsicID() == Intrinsic::amdgcn_exp2;
    }
  return hasProduct && hasExponential;
}

namespace {
/// Computes with pairs of f32, where that pays: between the products of attention, whose other
/// instructions take longer than the products.
struct PackAttentionPass : PassInfoMixin<PackAttentionPass> {
  PreservedAnalyses run(Function &function, FunctionAnalysisManager &analyses) {
    if (!isAttention(function))
      return PreservedAnalyses::all();
    FunctionPassManager passes;
    passes.addPass(PackPairsPass());
    passes.addPass(SLPVectorizerPass());
    passes.addPass(InstCombinePass());
    return passes.run(function, analyses);
  }
};
} // namespace

void optimize(Module &module, TargetMachine &machine) {
  FunctionPassManager last;
  last.addPass(PackAttentionPass());
  codegen::optimize(module, machine, std::move(last));
}

/// States that no access of LDS in the code concerns a load to LDS that is in flight. Channels wait
/// for these themselves; LLVM would wait for all of them before each read of LDS.
static void separateLoadsToLds(Function &function) {
  LLVMContext &context = function.getContext();
  MDBuilder metadata(context);
  MDNode *domain = metadata.createAnonymousAliasScopeDomain("channels");
  MDNode *copies = MDNode::get(context, metadata.createAnonymousAliasScope(domain, "copies"));
  MDNode *others = MDNode::get(context, metadata.createAnonymousAliasScope(domain, "others"));
  auto mark = [](Instruction &instruction, MDNode *own, MDNode *other) {
    instruction.setMetadata(LLVMContext::MD_alias_scope, own);
    instruction.setMetadata(LLVMContext::MD_noalias, other);
  };
  for (Instruction &instruction : instructions(function)) {
    auto *call = dyn_cast<CallInst>(&instruction);
    const Intrinsic::ID id = call ? call->getIntrinsicID() : Intrinsic::not_intrinsic;
    const llvm::Value *pointer = getLoadStorePointerOperand(&instruction);
    if (id == Intrinsic::amdgcn_raw_ptr_buffer_load_lds)
      mark(instruction, copies, others);
    else if (id == Intrinsic::amdgcn_ds_read_tr16_b64 || id == Intrinsic::amdgcn_ds_read_tr8_b64 ||
             (pointer && pointer->getType()->getPointerAddressSpace() == ldsSpace))
      mark(instruction, others, copies);
  }
}

void markKernels(Module &module, llvm::function_ref<int64_t(StringRef)> threadsOf) {
  LLVMContext &context = module.getContext();
  // Version 5 of code objects, which ROCm 6 loads; LLVM's default is newer.
  module.addModuleFlag(Module::Error, "amdhsa_code_object_version", 500);
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    const int64_t threads = threadsOf(function.getName());
    function.setCallingConv(CallingConv::AMDGPU_KERNEL);
    // The descriptor refers to the code by its distance, so no other object may replace the symbol.
    function.setVisibility(GlobalValue::ProtectedVisibility);
    function.addFnAttr("amdgpu-flat-work-group-size", concat(threads, ",", threads));
    function.addFnAttr("uniform-work-group-size", "true");
    for (const char *name : unused)
      function.addFnAttr(name);
    // With sums in AGPRs, LLVM 22 has no form of the scaled instruction that adds to its operand in
    // place, and copies all sums in each iteration. In a pipeline, fragments take more than the
    // half of the registers that are not AGPRs. Attention rescales its sums, which no instruction
    // but MFMA reads from AGPRs.
    const bool isPipelined = hasChannels(function);
    if (hasScaledProduct(function) || isPipelined || isAttention(function))
      function.addFnAttr("amdgpu-agpr-alloc", "0");
    if (isPipelined)
      separateLoadsToLds(function);
    auto size = [&](int64_t count) {
      return ConstantAsMetadata::get(
          ConstantInt::get(llvm::Type::getInt32Ty(context), static_cast<uint64_t>(count)));
    };
    function.setMetadata("reqd_work_group_size",
                         MDNode::get(context, {size(threads), size(1), size(1)}));
  }
}

Result<std::string> emit(Module &module, TargetMachine &machine, CodeGenFileType type) {
  SmallVector<char, 0> out;
  raw_svector_ostream stream(out);
  codegen::CodegenPasses passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return Status(Error::gpuCodegen, "LLVM cannot emit code for this chip");
  passes.run(module);
  return std::string(out.data(), out.size());
}

} // namespace tilewright::amdgcn
