// `tilewright run`: evaluates a program on given inputs.
#include "tilewright/driver/Compile.h"
#include "tilewright/interpret/Evaluator.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Progress.h"
#include "tilewright/support/TargetName.h"
#include "tools/tilewright/Command.h"
#include "tools/tilewright/Files.h"
#include "tools/tilewright/Inputs.h"
#include "tools/tilewright/Native.h"
#include "tools/tilewright/OnGpu.h"

#include "tilewright/interpret/Types.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <charconv>
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
    {"batch", "LIST", "run many: each line of LIST is FILE INPUT… -> PREFIX"},
    traceFlag,
};

/// One program to run.
struct Job {
  std::string program;
  std::vector<std::string> inputs;
  std::string outputPrefix; ///< empty: print
};

struct Settings {
  Options options;
  std::string function;
  RankGrid grid;
  ThreadPool *pool = nullptr;     ///< with --on=cpu
  runtime::Client *gpu = nullptr; ///< with --target=vgpu:…
  bool isCompiled() const { return pool || gpu; }
};

Result<int64_t> countFlag(const CommandLine &line, std::string_view flag) {
  std::string text = line.last(flag, "1");
  int64_t count = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1 || count > 4096)
    return Status(Error::flagValue,
                  concat("--", flag, " takes a number from 1 to 4096, got '", text, "'"));
  return count;
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
                  concat("parameters of type ", text, " cannot be given on the command line"));
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

Result<RuntimeValues> readInputs(const Job &job, mlir::func::FuncOp function, int64_t rank,
                                 Context &context) {
  mlir::ArrayRef<mlir::Type> types = function.getArgumentTypes();
  if (types.size() != job.inputs.size())
    return Status(Error::inputMismatch,
                  concat("@", function.getName().str(), " takes ", types.size(), " inputs, got ",
                         job.inputs.size(), "; give one --input for each"));
  RuntimeValues inputs;
  for (auto [index, type] : llvm::enumerate(types)) {
    TILEWRIGHT_ASSIGN(Parameter parameter, parameterOf(type));
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

Status runJob(const Job &job, const Settings &settings) {
  mlir::DialectRegistry registry;
  if (settings.isCompiled())
    driver::registerCompilerDialects(registry);
  mlir::MLIRContext mlirContext(registry, mlir::MLIRContext::Threading::DISABLED);
  mlirContext.loadAllAvailableDialects();
  TILEWRIGHT_ASSIGN(auto module, loadProgram(mlirContext, job.program, settings.options));
  auto function = module->lookupSymbol<mlir::func::FuncOp>(settings.function);
  if (!function)
    return Status(Error::commandUsage, concat(job.program, " has no function @", settings.function,
                                              "; tilewright print shows those it has"));

  Context context(settings.options.interpret);
  std::vector<RuntimeValues> inputs(settings.grid.count());
  for (auto [rank, values] : llvm::enumerate(inputs)) {
    TILEWRIGHT_ASSIGN(values, readInputs(job, function, rank, context));
  }
  if (settings.isCompiled()) {
    TILEWRIGHT_ASSIGN(RuntimeValues outputs,
                      settings.gpu
                          ? runOnGpu(*module, inputs[0], settings.options, *settings.gpu)
                          : runNative(*module, inputs[0], settings.options, *settings.pool));
    return giveOutputs(job, outputs, "");
  }
  Progress progress("evaluating " + job.program, [context] {
    return concat(context.steps(), " scalar operations, ", context.liveBytes() >> 20, " MiB alive");
  });
  TILEWRIGHT_ASSIGN(
      std::vector<RuntimeValues> outputs,
      evaluateRanks(*module, settings.function, settings.grid, std::move(inputs), context));
  for (auto [rank, values] : llvm::enumerate(outputs))
    TILEWRIGHT_TRY(giveOutputs(job, values, outputs.size() == 1 ? "" : concat("rank", rank)));
  return Status();
}

/// FILE INPUT… -> PREFIX, separated by blanks.
Result<Job> parseJob(const std::string &text, size_t lineNumber) {
  std::istringstream words(text);
  Job job;
  std::string word;
  words >> job.program;
  while (words >> word && word != "->")
    job.inputs.push_back(word);
  words >> job.outputPrefix;
  if (job.outputPrefix.empty() || words >> word)
    return Status(Error::commandUsage, concat("line ", lineNumber,
                                              " of the list must read FILE "
                                              "INPUT… -> PREFIX, got '",
                                              text, "'"));
  return job;
}

/// Runs every line and says how each went. The first failure is the batch's.
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
  TILEWRIGHT_ASSIGN(settings.grid.partitions, countFlag(line, "partitions"));
  TILEWRIGHT_ASSIGN(settings.grid.replicas, countFlag(line, "replicas"));
  // Who names a machine wants the program compiled for it.
  std::string on = line.last("on", line.has("target") ? "cpu" : "evaluator");
  if (on != "evaluator" && on != "cpu")
    return Status(Error::flagValue, concat("--on takes evaluator or cpu, got '", on, "'"));
  std::optional<ThreadPool> pool;
  std::unique_ptr<runtime::Client> gpu;
  if (on == "cpu") {
    if (settings.grid.count() != 1 || settings.function != "main")
      return Status(Error::commandUsage,
                    "what is compiled runs @main on one rank; several ranks and other functions "
                    "need --on=evaluator");
    if (TargetName::of(settings.options.compile.target).isGpu()) {
      TILEWRIGHT_ASSIGN(gpu, openGpu(settings.options));
      settings.gpu = gpu.get();
    } else {
      settings.pool = &pool.emplace(std::max(1u, std::thread::hardware_concurrency()));
    }
  }
  if (line.has("batch"))
    return runBatch(line.last("batch"), settings);
  TILEWRIGHT_ASSIGN(std::string program, onlyFile(line, "run"));
  return runJob({program, line.all("input"), line.last("output")}, settings);
}

} // namespace

const Command runCommand{
    "run",
    "FILE [--input=…]… [--output=PREFIX] [--target=CHIP]",
    "runs a program: evaluated, or compiled for this machine or a GPU",
    "\nFILE is a StableHLO portable artifact or text in our dialects. An input is an .npy file, "
    "or\n"
    "values in place: --input=2x2xf32=1,2,3,4 gives all elements, --input=1024xf32=0 one for all.\n"
    "With several ranks, {rank} in an input's name is the rank's number, and results are written "
    "to\n"
    "PREFIXrank0-0.npy and so on. Programs that judge themselves (check.expect_eq …) end with code "
    "5\n"
    "when they find themselves wrong.\n\n"
    "  tilewright run add.mlirbc --input=4xf32=1,2,3,4 --input=ones.npy\n"
    "  tilewright run add.mlirbc --input=4xf32=1,2,3,4 --input=ones.npy --target=vgpu:sm_90a\n",
    runFlags,
    run};

} // namespace tilewright::tools
