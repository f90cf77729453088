#include "tilewright/vgpu/run/DisassembleCommand.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/store/WholeFile.h"
#include "tilewright/vgpu/amdgcn/Disassemble.h"

#include <cstdio>
#include <vector>

namespace tilewright::vgpu::run {

using namespace amdgcn;

std::string_view disassembleHelp() {
  return "tilewright vgpu disassemble: prints the machine code of AMD code objects\n\n"
         "usage: tilewright vgpu disassemble [FLAGS] FILE…\n\n"
         "  --chip=gfx942|gfx950        which code object of a bundle; by default the first one\n"
         "  --kernels                   print the kernels with their registers, memory and "
         "arguments\n"
         "                              instead of the code\n"
         "\nA file is an ELF code object (.hsaco, .co) or a bundle that `clang -x hip` made. The "
         "text is that of\nllvm-objdump -d.\n"
         "\nexit code: 0; 1 if a code section has bytes that are not instructions of the chip; 2 "
         "if a file\ncannot be read\n";
}

namespace {
struct Call {
  std::vector<std::string> files;
  std::optional<Chip> chip;
  bool showsKernels = false;
};
} // namespace

static Result<Call> parse(std::span<const std::string_view> arguments) {
  Call call;
  for (std::string_view argument : arguments) {
    constexpr std::string_view chipFlag = "--chip=";
    if (argument == "--kernels") {
      call.showsKernels = true;
    } else if (argument.starts_with(chipFlag)) {
      call.chip = findChip(argument.substr(chipFlag.size()));
      if (!call.chip)
        return Status(Error::vgpuCommand, concat("--chip is '", argument.substr(chipFlag.size()),
                                                 "', expected gfx942 or gfx950"));
    } else if (argument.starts_with("-")) {
      return Status(Error::vgpuCommand,
                    concat("`tilewright vgpu disassemble` has no flag '", argument,
                           "'; see `tilewright vgpu disassemble --help`"));
    } else {
      call.files.emplace_back(argument);
    }
  }
  if (call.files.empty())
    return Status(Error::vgpuCommand, "`tilewright vgpu disassemble` needs a file; see `tilewright "
                                      "vgpu disassemble --help`");
  return call;
}

static std::string describe(const Kernel &kernel) {
  const KernelDescriptor &descriptor = kernel.descriptor;
  std::string text = concat(
      "kernel ", kernel.name, "\n  registers: ", kernel.vgprs, " VGPRs, ", kernel.agprs, " AGPRs, ",
      kernel.sgprs, " SGPRs; spilled: ", kernel.vgprSpills, " VGPRs, ", kernel.sgprSpills,
      " SGPRs\n  memory: ", descriptor.ldsBytes, " bytes of LDS, ", descriptor.scratchBytesPerLane,
      " bytes of scratch a lane\n  arguments: ", descriptor.kernelArgumentBytes, " bytes, ",
      descriptor.preloadedDwords(), " dwords preloaded\n");
  for (const KernelArgument &argument : kernel.arguments)
    text += concat("    ", argument.offset, ": ", argument.size, " bytes, ", argument.valueKind,
                   argument.name.empty() ? "" : " ", argument.name, "\n");
  return text;
}

/// Prints one file. Returns whether everything in its code sections is an instruction.
static Result<bool> print(const std::string &file, const Call &call) {
  const std::optional<std::string> content = readWholeFile(file);
  if (!content)
    return Status(Error::vgpuCommand, concat("cannot read '", file, "'"));
  TILEWRIGHT_ASSIGN(const FoundCode code,
                    findCodeObject(std::as_bytes(std::span(*content)), call.chip));
  TILEWRIGHT_ASSIGN(const CodeObject object, readCodeObject(code.bytes));
  if (call.showsKernels) {
    for (const Kernel &kernel : object.kernels)
      std::fputs(describe(kernel).c_str(), stdout);
    return true;
  }
  const Disassembly disassembly = disassemble(object);
  std::printf("\n%s:\tfile format elf64-amdgpu\n%s", file.c_str(), disassembly.text.c_str());
  if (disassembly.unknown != 0)
    std::fprintf(stderr, "%s: %zu dwords are not instructions of %s\n", file.c_str(),
                 disassembly.unknown, std::string(nameOf(object.chip)).c_str());
  return disassembly.unknown == 0;
}

Result<int> disassembleCommand(std::span<const std::string_view> arguments) {
  TILEWRIGHT_ASSIGN(const Call call, parse(arguments));
  bool isKnown = true;
  for (const std::string &file : call.files) {
    Result<bool> printed = print(file, call);
    if (!printed.isOk())
      return std::move(printed).takeStatus().during(concat("disassembling '", file, "'"));
    isKnown &= *printed;
  }
  return isKnown ? 0 : 1;
}

} // namespace tilewright::vgpu::run
