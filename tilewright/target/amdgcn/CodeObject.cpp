#include "tilewright/target/amdgcn/CodeObject.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/WorkLimit.h"
#include "tilewright/target/codegen/RunTool.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Program.h"

#include <optional>

using namespace llvm;

namespace tilewright::amdgcn {

/// The path of lld, or nullopt.
static std::optional<std::string> findLinker() {
  const StringRef folders[] = {"/opt/rocm/llvm/bin", "/usr/lib/llvm-22/bin"};
  // First the one whose version is that of our code generator.
  for (const char *name : {"ld.lld-22", "ld.lld"}) {
    if (auto found = sys::findProgramByName(name))
      return *found;
    if (auto found = sys::findProgramByName(name, folders))
      return *found;
  }
  return std::nullopt;
}

Result<std::string> linkObject(std::string_view object) {
  const std::optional<std::string> linker = findLinker();
  if (!linker)
    return Status(Error::gpuCodegen,
                  "found no ld.lld-22 or ld.lld in PATH, /opt/rocm/llvm/bin and "
                  "/usr/lib/llvm-22/bin, which links code for AMD's GPUs; install lld 22 or ROCm");
  const codegen::Temporary source("o"), output("hsaco");
  if (!source.write(StringRef(object.data(), object.size())))
    return Status(Error::gpuCodegen, concat("cannot write the temporary file '",
                                            source.path().str(), "'; check the free disk space"));
  const codegen::Ran ran =
      codegen::runTool(*linker, {"-shared", "--no-undefined", "-o", output.path(), source.path()});
  if (WorkLimit::mustStop())
    return WorkLimit::stopAt("lld");
  if (ran.exitCode != 0)
    return Status(Error::gpuCodegen, concat("'", *linker, "' failed with exit code ", ran.exitCode,
                                            ":\n", ran.output));
  return output.text();
}

/// A number of a kernel's note; 0 if it is missing.
static int64_t numberIn(msgpack::MapDocNode &kernel, StringRef key) {
  auto found = kernel.find(key);
  return found != kernel.end() && found->second.getKind() == msgpack::Type::UInt
             ? static_cast<int64_t>(found->second.getUInt())
             : 0;
}

static std::vector<target::KernelBudget> budgetsIn(msgpack::Document &note) {
  std::vector<target::KernelBudget> budgets;
  if (!note.getRoot().isMap())
    return budgets;
  msgpack::DocNode &kernels = note.getRoot().getMap()["amdhsa.kernels"];
  if (!kernels.isArray())
    return budgets;
  for (msgpack::DocNode &node : kernels.getArray()) {
    msgpack::MapDocNode kernel = node.getMap(/*Convert=*/true);
    // Words of 4 bytes, of each lane.
    const int64_t spilled = 4 * numberIn(kernel, ".vgpr_spill_count");
    budgets.push_back({.symbol = kernel[".name"].toString(),
                       .registers = numberIn(kernel, ".vgpr_count"),
                       .spillStoreBytes = spilled,
                       .spillLoadBytes = spilled,
                       .stackBytes = numberIn(kernel, ".private_segment_fixed_size"),
                       .sharedBytes = numberIn(kernel, ".group_segment_fixed_size")});
  }
  return budgets;
}

Result<std::vector<target::KernelBudget>> budgetsOf(std::string_view codeObject) {
  using File = object::ELFFile<object::ELF64LE>;
  auto missing = [] {
    return Status(Error::gpuCodegen, "the code object has no note about its kernels");
  };
  Expected<File> file = File::create(StringRef(codeObject.data(), codeObject.size()));
  if (!file) {
    consumeError(file.takeError());
    return missing();
  }
  auto sections = file->sections();
  if (!sections) {
    consumeError(sections.takeError());
    return missing();
  }
  for (const auto &section : *sections) {
    if (section.sh_type != ELF::SHT_NOTE)
      continue;
    llvm::Error error = llvm::Error::success();
    for (const auto note : file->notes(section, error)) {
      msgpack::Document document;
      if (note.getName() == "AMDGPU" && note.getType() == ELF::NT_AMDGPU_METADATA &&
          document.readFromBlob(note.getDescAsStringRef(section.sh_addralign), /*Multi=*/false)) {
        consumeError(std::move(error));
        return budgetsIn(document);
      }
    }
    consumeError(std::move(error));
  }
  return missing();
}

} // namespace tilewright::amdgcn
