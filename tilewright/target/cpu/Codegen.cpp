#include "tilewright/target/cpu/Codegen.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/codegen/CodeGenerator.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/TargetSelect.h"

using namespace llvm;

namespace tilewright::cpu {

Result<std::unique_ptr<TargetMachine>> createTargetMachine(const Chip &chip) {
  codegen::registerTarget<LLVMInitializeX86TargetInfo, LLVMInitializeX86Target,
                          LLVMInitializeX86TargetMC, LLVMInitializeX86AsmPrinter>();
  std::string features;
  for (std::string_view feature : chip.features)
    features += concat(features.empty() ? "+" : ",+", feature);
  return codegen::createMachine({.triple = triple,
                                 .cpu = chip.cpu,
                                 .features = std::move(features),
                                 .relocation = Reloc::PIC_,
                                 .codeModel = CodeModel::Small,
                                 .failure = Error::cpuCodegen,
                                 .origin = concat(" (row ", chip.name, " of Chips.def)")});
}

void optimize(Module &module, TargetMachine &machine) { codegen::optimize(module, machine); }

static bool emit(Module &module, TargetMachine &machine, SmallVectorImpl<char> &out,
                 CodeGenFileType type) {
  raw_svector_ostream stream(out);
  codegen::CodegenPasses passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return false;
  passes.run(module);
  return true;
}

Result<std::vector<std::byte>> emitObject(Module &module, TargetMachine &machine) {
  SmallVector<char, 0> out;
  if (!emit(module, machine, out, CodeGenFileType::ObjectFile))
    return Status(Error::cpuCodegen, "LLVM cannot emit object files for this chip");
  auto *bytes = reinterpret_cast<const std::byte *>(out.data());
  return std::vector<std::byte>(bytes, bytes + out.size());
}

std::string emitAssembly(Module &module, TargetMachine &machine) {
  SmallVector<char, 0> out;
  emit(module, machine, out, CodeGenFileType::AssemblyFile);
  return std::string(out.data(), out.size());
}

} // namespace tilewright::cpu
