// `tilewright run`: runs a program or an executable on given inputs.
#include "tilewright/driver/Compile.h"
#include "tilewright/interpret/Evaluator.h"
#include "tilewright/runtime/cuda/CudaBackend.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Progress.h"
#include "tilewright/support/TargetName.h"
#include "tools/tilewright/Checks.h"
#include "tools/tilewright/Command.h"
#include "tools/tilewright/CompileFile.h"
#include "tools/tilewright/Native.h"
#include "tools/tilewright/OnGpu.h"
#include "tools/tilewright/input/Files.h"
#include "tools/tilewright/input/Inputs.h"

#include "tilewright/interpret/Types.h"
#include "tilewright/support/text/Number.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <atomic>
#include <iostream>
#include <optional>
#include <sstream>
#include <thread>

using namespace tilewright::interpret;

namespace tilewright::tools {
namespace {

constexpr Flag runFlags[] = {
    {"input", "FILE.npy|VALUES", "an argument of the function, in order; may be repeated"},
    {"output", "PREFIX", "write result i to PREFIXi.npy instead of printing it"},
    {"on", "evaluator|cpu",
     "evaluate, slowly and exactly (default), or compile and run on this machine"},
    targetFlag,
    {"function", "NAME", "the function to evaluate (default main)"},
    {"partitions", "N", "simulate N ranks that each run the program (default 1)"},
    {"replicas", "N", "simulate N replicas of those ranks (default 1)"},
    {"donate", "marked|all|NUMBERS",
     "let results take over the memory of parameters, as donate_argnums in JAX does: those that "
     "the "
     "program marks, all, or those with these numbers (0,2)"},
    {"batch", "LIST", "run many: each line of LIST is FILE INPUT… -> PREFIX"},
    traceFlag,
};

/// One program to run.
struct Job {
  std::string program;
  std::vector<std::string> inputs;
  std::string outputPrefix; ///< empty: print
};

/// Runs executables; each client is created when the first executable needs it.
class Machines {
public:
  explicit Machines(const Options &options) : options(options) {}

  Result<artifact::Executable> compile(mlir::ModuleOp module, const std::string &path) {
    driver::CompileRequest request;
    request.options = options;
    request.warn = printWarning;
    if (TargetName::of(options.compile.target).isGpu()) {
      TILEWRIGHT_ASSIGN(runtime::Client * client, gpuFor(options.compile.target));
      request.options.compile.target = runtime::cuda::targetFor(options.compile.target, *client);
    }
    std::atomic<const char *> stage = "reading";
    request.progress = [&](const char *name, double) { stage = name; };
    Progress progress("compiling " + path, [&] { return std::string(stage.load()); });
    Result<artifact::Executable> executable = Status(Code::internal, "not compiled");
    driver::runOnLargeStack([&] { executable = driver::compile(module, request); });
    return executable;
  }

  Result<RuntimeValues> run(artifact::Executable executable, const RuntimeValues &inputs,
                            const std::string &path, Donate donate = Donate::nothing) {
    const std::string on = executable.target.cpu;
    Progress progress("running " + path, [on] { return "on " + on; });
    if (executable.target.isGpu()) {
      std::string target = options.compile.target;
      if (!TargetName::of(target).isGpu())
        target = executable.target.isAmd() ? "rocm" : "cuda";
      TILEWRIGHT_ASSIGN(runtime::Client * client, gpuFor(target));
      return runOnGpu(std::move(executable), inputs, options, *client, donate);
    }
    if (!pool)
      pool.emplace(std::max(1u, std::thread::hardware_concurrency()));
    return runNative(std::move(executable), inputs, options, *pool, donate);
  }

private:
  Result<runtime::Client *> gpuFor(const std::string &target) {
    if (!gpu) {
      Options withTarget = options;
      withTarget.compile.target = target;
      TILEWRIGHT_ASSIGN(gpu, openGpu(withTarget));
    }
    return gpu.get();
  }

  const Options options;
  std::optional<ThreadPool> pool;
  std::unique_ptr<runtime::Client> gpu;
};

struct Settings {
  Options options;
  std::string function;
  RankGrid grid;
  bool compiles = false;  ///< with --on=cpu or --target
  bool evaluates = false; ///< with --on=evaluator
  Machines *machines = nullptr;
  std::string donated = {}; ///< value of --donate
};

/// Marks the parameters in `donated` as JAX does for donate_argnums. Parameters that are already
/// marked stay marked.
Status markDonated(mlir::func::FuncOp function, const std::string &donated) {
  std::vector<unsigned> parameters;
  if (donated == "all")
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      parameters.push_back(i);
  std::istringstream words(donated == "all" || donated == "marked" ? "" : donated);
  for (std::string word; std::getline(words, word, ',');) {
    const std::optional<unsigned> number = numberIn<unsigned>(word);
    if (!number || *number >= function.getNumArguments())
      return Status(Error::flagValue,
                    concat("--donate expects marked, all, or indices of the ",
                           function.getNumArguments(), " parameters, got '", word, "'"));
    parameters.push_back(*number);
  }
  for (unsigned i : parameters)
    if (!function.getArgAttr(i, "tf.aliasing_output"))
      function.setArgAttr(i, "jax.buffer_donor", mlir::BoolAttr::get(function.getContext(), true));
  return Status();
}

Result<Parameter> parameterOf(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  std::optional<numerics::ElementType> element;
  if (tensor)
    element = elementTypeOf(tensor.getElementType());
  if (!element) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return Status(Error::inputMismatch,
                  concat("parameters of type ", text, " cannot be passed on the command line"));
  }
  Parameter parameter{*element, {}};
  for (int64_t size : tensor.getShape())
    parameter.dims.push_back(mlir::ShapedType::isDynamic(size) ? std::nullopt
                                                               : std::optional(size));
  return parameter;
}

std::string replaceRank(std::string text, int64_t rank) {
  for (size_t at; (at = text.find("{rank}")) != text.npos;)
    text.replace(at, 6, std::to_string(rank));
  return text;
}

Result<RuntimeValues> readInputs(const Job &job, const std::string &function,
                                 const std::vector<Parameter> &parameters, int64_t rank,
                                 Context &context) {
  if (parameters.size() != job.inputs.size()) {
    std::string types;
    for (const Parameter &parameter : parameters)
      types += concat(types.empty() ? ": " : ", ", parameter.toString());
    return Status(Error::inputMismatch,
                  concat("@", function, " takes ",
                         counted(static_cast<int64_t>(parameters.size()), "input"), types, "; got ",
                         job.inputs.size(), "; pass one --input for each"));
  }
  RuntimeValues inputs;
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    Result<Tensor> tensor = readInput(replaceRank(job.inputs[index], rank), parameter, context);
    if (!tensor.isOk())
      return std::move(tensor).takeStatus().during(concat("reading input ", index));
    inputs.emplace_back(*std::move(tensor));
  }
  return inputs;
}

void printValue(const RuntimeValue &value) {
  if (value.isTensor()) {
    std::cout << "tensor<" << value.tensor().typeString() << "> " << value.tensor().toString(1000)
              << "\n";
  } else if (value.isTuple()) {
    std::cout << "tuple of " << value.elements().size() << "\n";
    for (const RuntimeValue &element : value.elements())
      printValue(element);
  } else {
    std::cout << "token\n";
  }
}

Status giveOutputs(const Job &job, const RuntimeValues &outputs, std::string_view rank) {
  for (size_t index = 0; index < outputs.size(); ++index) {
    if (job.outputPrefix.empty()) {
      std::cout << rank << (rank.empty() ? "" : " ") << "result " << index << ": ";
      printValue(outputs[index]);
    } else if (outputs[index].isTensor()) {
      TILEWRIGHT_TRY(
          writeNpy(concat(job.outputPrefix, rank, rank.empty() ? "" : "-", index, ".npy"),
                   outputs[index].tensor()));
    }
  }
  return Status();
}

/// Runs without the compiler: the executable's signature lists its parameters.
Status runExecutable(const Job &job, artifact::Executable executable, const Settings &settings) {
  const bool wantsGpu = TargetName::of(settings.options.compile.target).isGpu();
  const int64_t ranks = executable.replicas * executable.partitions;
  if (settings.evaluates || settings.function != "main" || settings.grid.count() != 1)
    return Status(Error::commandUsage,
                  concat(job.program,
                         " is an executable, which runs @main on its own target; --on, "
                         "--function and several ranks are supported only for programs"));
  if (ranks != 1)
    return Status(Error::commandUsage,
                  concat(job.program, " was compiled for ", ranks,
                         " ranks; this command runs only executables for one rank"));
  if (wantsGpu && !executable.target.isGpu())
    return Status(Error::commandUsage,
                  concat(job.program, " was compiled for ", executable.target.cpu,
                         ", a CPU, but the target is ", settings.options.compile.target,
                         "; compile it again"));
  std::vector<Parameter> parameters;
  for (const artifact::Parameter &parameter : executable.parameters)
    parameters.push_back(
        {parameter.type.element, {parameter.type.dims.begin(), parameter.type.dims.end()}});
  Context context(settings.options.interpret);
  TILEWRIGHT_ASSIGN(RuntimeValues inputs, readInputs(job, "main", parameters, 0, context));
  TILEWRIGHT_ASSIGN(RuntimeValues outputs,
                    settings.machines->run(std::move(executable), inputs, job.program));
  return giveOutputs(job, outputs, "");
}

Status runJob(const Job &job, const Settings &settings) {
  TILEWRIGHT_ASSIGN(std::optional<artifact::Executable> ready,
                    readIfExecutable(job.program, settings.options));
  if (ready)
    return runExecutable(job, *std::move(ready), settings);
  mlir::DialectRegistry registry;
  if (settings.compiles)
    driver::registerCompilerDialects(registry);
  mlir::MLIRContext mlirContext(registry, mlir::MLIRContext::Threading::DISABLED);
  mlirContext.loadAllAvailableDialects();
  TILEWRIGHT_ASSIGN(auto module, loadProgram(mlirContext, job.program, settings.options));
  auto function = module->lookupSymbol<mlir::func::FuncOp>(settings.function);
  if (!function)
    return Status(Error::commandUsage, concat(job.program, " has no function @", settings.function,
                                              "; `tilewright print` lists its functions"));

  Context context(settings.options.interpret);
  std::vector<Parameter> parameters;
  for (mlir::Type type : function.getArgumentTypes()) {
    TILEWRIGHT_ASSIGN(Parameter parameter, parameterOf(type));
    parameters.push_back(std::move(parameter));
  }
  std::vector<RuntimeValues> inputs(settings.grid.count());
  for (auto [rank, values] : llvm::enumerate(inputs)) {
    TILEWRIGHT_ASSIGN(values, readInputs(job, settings.function, parameters, rank, context));
  }
  if (settings.compiles) {
    TILEWRIGHT_TRY(markDonated(function, settings.donated));
    const Donate donate = settings.donated.empty() ? Donate::nothing : Donate::whatIsMarked;
    // A CPU's program calls its checks; a GPU's returns what they compare.
    std::vector<Check> checks;
    if (TargetName::of(settings.options.compile.target).isGpu())
      checks = checksAsResults(function);
    TILEWRIGHT_ASSIGN(artifact::Executable executable,
                      settings.machines->compile(*module, job.program));
    TILEWRIGHT_ASSIGN(
        RuntimeValues outputs,
        settings.machines->run(std::move(executable), inputs[0], job.program, donate));
    Status verdict = judge(checks, outputs);
    TILEWRIGHT_TRY(giveOutputs(job, outputs, ""));
    return verdict;
  }
  Progress progress("evaluating " + job.program, [context] {
    return concat(context.steps(), " scalar operations, ", context.liveBytes() >> 20, " MiB live");
  });
  TILEWRIGHT_ASSIGN(
      std::vector<RuntimeValues> outputs,
      evaluateRanks(*module, settings.function, settings.grid, std::move(inputs), context));
  for (auto [rank, values] : llvm::enumerate(outputs))
    TILEWRIGHT_TRY(giveOutputs(job, values, outputs.size() == 1 ? "" : concat("rank", rank)));
  return Status();
}

/// Parses "FILE INPUT… -> PREFIX", separated by blanks.
Result<Job> parseJob(const std::string &text, size_t lineNumber) {
  std::istringstream words(text);
  Job job;
  std::string word;
  words >> job.program;
  while (words >> word && word != "->")
    job.inputs.push_back(word);
  words >> job.outputPrefix;
  if (job.outputPrefix.empty() || words >> word)
    return Status(Error::commandUsage,
                  concat("line ", lineNumber,
                         " of the list must have the form FILE INPUT… -> PREFIX, got '", text,
                         "'"));
  return job;
}

/// Runs every line and prints each result. Returns the first failure.
Status runBatch(const std::string &listPath, const Settings &settings) {
  TILEWRIGHT_ASSIGN(std::string list, readFile(listPath));
  std::istringstream lines(list);
  Status first;
  std::string text;
  for (size_t number = 1; std::getline(lines, text); ++number) {
    if (text.empty())
      continue;
    TILEWRIGHT_ASSIGN(Job job, parseJob(text, number));
    Status status = runJob(job, settings);
    std::cout << (status.isOk() ? "ok " : "failed ") << job.program << "\n";
    if (!status.isOk())
      std::cout << status.toString() << "\n";
    std::cout << std::flush;
    if (first.isOk() && !status.isOk())
      first = std::move(status);
  }
  return first;
}

Status run(const CommandLine &line) {
  Settings settings{optionsOf(line), line.last("function", "main"), {}};
  settings.donated = line.last("donate");
  TILEWRIGHT_ASSIGN(settings.grid.partitions, countFlag(line, "partitions"));
  TILEWRIGHT_ASSIGN(settings.grid.replicas, countFlag(line, "replicas"));
  // --target names a machine to compile for, so it implies --on=cpu.
  const std::string on = line.last("on", line.has("target") ? "cpu" : "");
  if (!on.empty() && on != "evaluator" && on != "cpu")
    return Status(Error::flagValue, concat("--on must be evaluator or cpu, got '", on, "'"));
  settings.compiles = on == "cpu";
  settings.evaluates = on == "evaluator";
  if (settings.compiles && (settings.grid.count() != 1 || settings.function != "main"))
    return Status(Error::commandUsage, "a compiled program runs @main on one rank; several ranks "
                                       "and other functions require --on=evaluator");
  Machines machines(settings.options);
  settings.machines = &machines;
  if (line.has("batch"))
    return runBatch(line.last("batch"), settings);
  TILEWRIGHT_ASSIGN(std::string program, onlyFile(line, "run"));
  return runJob({program, line.all("input"), line.last("output")}, settings);
}

} // namespace

const Command runCommand{
    "run",
    "FILE [--input=…]… [--output=PREFIX] [--target=CHIP]",
    "runs a program or an executable: evaluated, or compiled for this machine or a GPU",
    "\nFILE is a StableHLO portable artifact, MLIR text, or an executable (.twx), which needs no\n"
    "compiler. An input is an .npy file or inline values: --input=2x2xf32=1,2,3,4 lists all\n"
    "elements, --input=1024xf32=0 repeats one. With several ranks, {rank} in the name of an input\n"
    "stands for the number of the rank, and results are written to PREFIXrank0-0.npy and so on.\n"
    "A program with checks (check.expect_eq …) exits with code 5 if a check fails.\n\n"
    "  tilewright run add.mlirbc --input=4xf32=1,2,3,4 --input=ones.npy\n"
    "  tilewright run add.mlirbc --input=4xf32=1,2,3,4 --input=ones.npy --target=vgpu:sm_90a\n"
    "  tilewright run add.mlirbc --input=4xf32=1,2,3,4 --input=ones.npy --target=vgpu:gfx950\n"
    "  tilewright run add.twx --input x.npy --input y.npy\n",
    runFlags,
    run};

} // namespace tilewright::tools
