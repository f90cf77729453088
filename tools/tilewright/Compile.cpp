// `tilewright compile`: compiles a program to an executable file and prints a summary.
#include "tilewright/driver/Compile.h"
#include "tilewright/artifact/Statistics.h"
#include "tilewright/artifact/Writer.h"
#include "tilewright/support/Concat.h"
#include "tools/tilewright/Command.h"
#include "tools/tilewright/CompileFile.h"
#include "tools/tilewright/input/Files.h"

#include <cstdio>
#include <iostream>

namespace tilewright::tools {
namespace {

constexpr Flag compileFlags[] = {
    targetFlag,
    {"output", "FILE", "the executable to write (default: the program's name with .twx)"},
    {"code", "PREFIX",
     "also write the code by itself: PREFIX.o (if several threads made it, PREFIX.0.o and so on), "
     "or PREFIX.ptx and PREFIX.cubin"},
    {"report", "", "print the time of each stage, and the parts of the executable"},
    {"remarks", "all|distribute|fuse|tile",
     "print what these stages did and did not do, with reasons"},
    traceFlag,
};

void printReport(const driver::CompileReport &report, const artifact::Executable &executable,
                 size_t fileBytes) {
  double total = 0;
  std::printf("stage            seconds      ops\n");
  for (const driver::StageReport &stage : report.stages) {
    std::printf("%-14s %9.4f %8lld\n", stage.name.c_str(), stage.seconds,
                static_cast<long long>(stage.ops));
    total += stage.seconds;
  }
  std::printf("%-14s %9.4f\n\n", "all", total);
  size_t launches = 0, libraries = 0, copies = 0, others = 0;
  for (const artifact::Block &block : executable.blocks)
    for (const artifact::Step &step : block.steps) {
      if (std::holds_alternative<artifact::LaunchStep>(step.action))
        ++launches;
      else if (std::holds_alternative<artifact::LibraryStep>(step.action))
        ++libraries;
      else if (std::holds_alternative<artifact::CopyStep>(step.action))
        ++copies;
      else
        ++others;
    }
  auto count = [](size_t number, std::string_view noun) {
    return counted(static_cast<int64_t>(number), noun);
  };
  std::cout << "steps       " << count(launches, "launch") << " of "
            << count(executable.kernels.size(), "kernel") << ", "
            << count(libraries, "library call") << ", " << count(copies, "copy") << ", "
            << count(others, "other") << " in " << count(executable.blocks.size(), "block") << "\n"
            << "temporaries " << humanBytes(executable.arenaBytes[0]) << "\n"
            << "constants   " << humanBytes(static_cast<int64_t>(executable.constants.size()))
            << "\n"
            << "object code " << humanBytes(static_cast<int64_t>(executable.objectBytes()))
            << " in " << count(executable.objects.size(), "object") << "\n"
            << "file        " << humanBytes(static_cast<int64_t>(fileBytes)) << "\n"
            << "arithmetic  " << artifact::statistic(executable, "flops").value_or(0) << " flops, "
            << artifact::statistic(executable, "transcendentals").value_or(0)
            << " transcendentals, " << artifact::statistic(executable, "bytes accessed").value_or(0)
            << " bytes accessed\n"
            << "for         " << executable.target.cpu << "\n";
}

/// Writes the code of an executable to files that other tools can read.
Status writeCode(const artifact::Executable &executable, const std::string &prefix) {
  const artifact::Target &target = executable.target;
  const std::string kind = !target.isGpu() ? ".o" : target.isAmd() ? ".hsaco" : ".ptx";
  auto write = [&](const std::string &suffix, std::span<const std::byte> code) -> Status {
    const std::string path = concat(prefix, suffix);
    TILEWRIGHT_TRY(writeFile(path, {code}));
    std::cout << "wrote " << path << "\n";
    return Status();
  };
  const size_t count = executable.objects.size();
  for (size_t i = 0; i < count; ++i) {
    const std::string number = count > 1 ? concat(".", i) : "";
    TILEWRIGHT_TRY(write(concat(number, kind), executable.objects[i]));
  }
  if (count == 0)
    std::cout << "no code to write: the program has no kernels\n";
  return executable.binary.empty() ? Status() : write(".cubin", executable.binary);
}

Status compile(const CommandLine &line) {
  TILEWRIGHT_ASSIGN(std::string path, onlyFile(line, "compile"));
  std::string output = line.last("output");
  if (output.empty())
    output = concat(path.substr(0, path.rfind('.')), ".twx");

  driver::CompileReport report;
  const std::string remarks = line.last("remarks");
  if (!remarks.empty() && remarks != "all" && remarks != "distribute" && remarks != "fuse" &&
      remarks != "tile")
    return Status(Error::flagValue,
                  concat("--remarks must be all, distribute, fuse or tile, got '", remarks, "'"));
  TILEWRIGHT_ASSIGN(artifact::Executable executable,
                    compileFile(path, optionsOf(line), report, !remarks.empty()));
  std::vector<std::byte> bytes = artifact::writeExecutable(executable);
  TILEWRIGHT_TRY(writeFile(output, {std::span<const std::byte>(bytes)}));
  std::cout << "wrote " << output << " (" << humanBytes(static_cast<int64_t>(bytes.size()))
            << "): " << counted(static_cast<int64_t>(executable.kernels.size()), "kernel")
            << " for " << executable.target.cpu << "\n";
  if (line.has("code"))
    TILEWRIGHT_TRY(writeCode(executable, line.last("code")));
  if (line.has("report"))
    printReport(report, executable, bytes.size());
  if (!remarks.empty())
    printRemarks(report.remarks, remarks);
  return Status();
}

} // namespace

void printRemarks(const std::vector<driver::Remark> &remarks, std::string_view stage) {
  size_t done = 0, missed = 0;
  for (const driver::Remark &remark : remarks) {
    if (stage != "all" && remark.stage != stage)
      continue;
    ++(remark.isMissed ? missed : done);
    std::cout << toString(remark);
  }
  std::cout << done << " done, " << missed << " missed\n";
}

const Command compileCommand{
    "compile",
    "FILE [--target=CHIP] [--output=FILE.twx] [--report] [--remarks=all] [--trace=FILE.json]",
    "compiles a program for this machine, or for that of --target",
    "\nFILE is a StableHLO portable artifact or MLIR text. The executable contains object code, "
    "the\n"
    "plan of steps and buffers, constants and the signature; it runs without a compiler on any\n"
    "machine that has the chip's features. --compile.dump-dir=DIR keeps the module after every\n"
    "stage, and remarks.txt, which lists what was fused and what was not, with reasons.\n\n"
    "  tilewright compile step.mlirbc --report\n"
    "  tilewright compile step.mlirbc --target=sm_90a --code=step\n",
    compileFlags,
    compile};

} // namespace tilewright::tools
