// `tilewright tune` and `tilewright explain tuning`: measures the matrix products of a program, and
// prints measurements.
#include "tools/tilewright/Tune.h"

#include "tilewright/runtime/candidates/Candidates.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Progress.h"
#include "tools/tilewright/Command.h"
#include "tools/tilewright/CompileFile.h"
#include "tools/tilewright/Native.h"
#include "tools/tilewright/input/Inputs.h"

#include <algorithm>
#include <iostream>
#include <thread>

namespace tilewright::tools {
namespace {

constexpr Flag tuneFlags[] = {
    {"output", "FILE", "the tuning file to add to (default: runtime.tuning-file)"},
    {"input", "FILE.npy|VALUES",
     "an argument of the function, in order; may be repeated (default: 0.5 or 0 everywhere)"},
    {"threads", "N", "the threads of the programs that will use the measurements (default: all)"},
    traceFlag,
};

Result<interpret::RuntimeValues> inputsOf(const artifact::Executable &executable,
                                          const std::vector<std::string> &given,
                                          interpret::Context &context) {
  if (!given.empty() && given.size() != executable.parameters.size())
    return Status(Error::inputMismatch,
                  concat("the program takes ", executable.parameters.size(), " inputs, got ",
                         given.size(), "; pass one --input for each, or none"));
  interpret::RuntimeValues inputs;
  for (const artifact::Parameter &each : executable.parameters) {
    const Parameter parameter{each.type.element, {each.type.dims.begin(), each.type.dims.end()}};
    const std::string text =
        given.empty()
            ? concat(parameter.toString(), "=", numerics::isReal(each.type.element) ? "0.5" : "0")
            : given[inputs.size()];
    TILEWRIGHT_ASSIGN(interpret::Tensor tensor, readInput(text, parameter, context));
    inputs.emplace_back(std::move(tensor));
  }
  return inputs;
}

Status tune(const CommandLine &line) {
  TILEWRIGHT_ASSIGN(const std::string path, onlyFile(line, "tune"));
  Options options = line.options();
  options.runtime.tune = true;
  options.runtime.tuningFile = line.last("output", options.runtime.tuningFile);
  if (options.runtime.tuningFile.empty())
    return Status(Error::commandUsage,
                  "name the tuning file: --output=FILE, or runtime.tuning-file");
  TILEWRIGHT_TRY(runtime::TuningFile::open(options.runtime.tuningFile).takeStatus());
  int64_t threads = std::max(1u, std::thread::hardware_concurrency());
  if (line.has("threads")) {
    TILEWRIGHT_ASSIGN(threads, countFlag(line, "threads"));
  }
  TILEWRIGHT_ASSIGN(artifact::Executable executable, readOrCompile(path, options));
  if (executable.target.isGpu() || executable.replicas * executable.partitions != 1)
    return Status(Error::commandUsage,
                  concat(path, " is for ", executable.replicas * executable.partitions,
                         " ranks of ", executable.target.cpu,
                         "; only programs for one rank of this machine's CPU can be tuned"));
  interpret::Context context(options.interpret);
  TILEWRIGHT_ASSIGN(const interpret::RuntimeValues inputs,
                    inputsOf(executable, line.all("input"), context));
  ThreadPool pool(static_cast<unsigned>(threads));
  {
    Progress progress("measuring " + path, [] {
      return counted(static_cast<int64_t>(runtime::Candidates::ofProcess().decisions().size()),
                     "product");
    });
    TILEWRIGHT_TRY(runNative(std::move(executable), inputs, options, pool).takeStatus());
  }
  int64_t measured = 0, changed = 0;
  for (const runtime::Decision &decision : runtime::Candidates::ofProcess().decisions()) {
    measured += decision.isMeasured();
    changed += decision.chosen != 0;
  }
  std::cout << counted(measured, "product") << " measured, " << changed
            << " faster by another candidate; tilewright explain tuning "
            << options.runtime.tuningFile << "\n";
  return Status();
}

} // namespace

Status explainTuning(const std::string &path, const Options &options) {
  TILEWRIGHT_ASSIGN(std::shared_ptr<runtime::TuningFile> file, runtime::TuningFile::open(path));
  std::vector<runtime::Decision> decisions = file->decisions();
  int64_t changed = 0;
  for (runtime::Decision &decision : decisions) {
    decision.chosen = runtime::fastest(decision.candidates, options.runtime.deterministic);
    changed += decision.chosen != 0;
    std::cout << toString(decision) << "\n";
  }
  std::cout << counted(static_cast<int64_t>(decisions.size()), "product") << ", " << changed
            << " faster by another candidate than the preferred one, which is listed first";
  if (size_t skipped = file->skippedLines())
    std::cout << "; " << counted(static_cast<int64_t>(skipped), "damaged line") << " skipped";
  std::cout << "\n";
  return Status();
}

const Command tuneCommand{
    "tune",
    "FILE --output=TUNING [--input=…]…",
    "measures the matrix products of a program and keeps the times for later runs",
    "\nFILE is a StableHLO portable artifact, MLIR text or an executable (.twx). The program runs\n"
    "once on this machine; each product without an epilogue is computed by our kernels with\n"
    "several tile sizes and, if installed, by oneDNN. Programs that run with\n"
    "runtime.tuning-file=TUNING then use the fastest; runtime.deterministic restricts them to\n"
    "candidates that compute the same bits.\n\n"
    "  tilewright tune step.mlirbc --output=step.tuning\n"
    "  TILEWRIGHT_RUNTIME_TUNING_FILE=step.tuning python train.py\n"
    "  tilewright explain tuning step.tuning\n",
    tuneFlags,
    tune};

} // namespace tilewright::tools
