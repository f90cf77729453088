// tilewright-reduce: reduces a failing program to a few ops that still fail.
#include "tools/tilewright-reduce/AgainstEvaluator.h"
#include "tools/tilewright-reduce/Isolate.h"
#include "tools/tilewright-reduce/Reduce.h"
#include "tools/tilewright/Command.h"
#include "tools/tilewright/input/Files.h"
#include "tools/tilewright/input/Inputs.h"

#include "tilewright/driver/Compile.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <unistd.h>

using namespace tilewright;
using namespace tilewright::tools;

namespace {

constexpr Flag flags[] = {
    targetFlag,
    {"test", "COMMAND",
     "a shell command; {} is the program, {inputs} its inputs as flags of tilewright run. "
     "It must exit with 0 if the program is still interesting"},
    {"against", "evaluator",
     "a program is interesting if it fails as FILE does: a result too far from the evaluator's, a "
     "refusal with the same code, a crash, a compilation that does not end, a finding of the "
     "virtual GPU (--target=vgpu:sm_90a)"},
    {"input", "FILE.npy|VALUES",
     "an argument of the program, in order; may be repeated. Without any, the tool chooses "
     "numbers"},
    {"output", "FILE", "the reduced program to write (default: FILE with .reduced.mlir)"},
    {"seconds", "N", "CPU seconds after which a program counts as hanging (default 20)"},
};

/// How a program fails, in one word. A reduced program must fail in the same way.
std::string failureOf(const Subject &subject, const Options &options, double seconds) {
  std::string kind;
  auto work = [&](uint64_t) -> std::string {
    auto judge = AgainstEvaluator::create(options);
    if (!judge.isOk())
      return "";
    interpret::RuntimeValues inputs;
    for (const interpret::Tensor &input : subject.inputs)
      inputs.emplace_back(input);
    const Verdict verdict = (*judge)->check(subject.module(), inputs);
    switch (verdict.kind) {
    case Verdict::Kind::agrees:
    case Verdict::Kind::unjudged:
      return "";
    case Verdict::Kind::differs:
      return "differs";
    case Verdict::Kind::refused:
      return concat("refused", verdict.error ? " with " + idOf(*verdict.error) : "");
    case Verdict::Kind::reported:
      return "reported";
    case Verdict::Kind::failed:
      return concat("failed", verdict.error ? " with " + idOf(*verdict.error) : "");
    }
    return "";
  };
  auto start = [&]() -> std::function<std::string(uint64_t)> { return work; };
  runIsolated({0, 1, 1, seconds, 0}, start, [&](const Outcome &outcome) {
    kind = outcome.kind == Outcome::Kind::ended  ? outcome.text
           : outcome.kind == Outcome::Kind::died ? "died: " + outcome.text
                                                 : "hung";
  });
  return kind;
}

std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module << "\n";
  return text;
}

/// Writes the program and, next to it, its inputs; returns the flags that name the inputs.
Result<std::string> writeSubject(const Subject &subject, const std::string &path) {
  const std::string text = textOf(subject.module());
  TILEWRIGHT_TRY(writeFile(path, {std::as_bytes(std::span(text))}));
  std::string inputs;
  for (size_t i = 0; i < subject.inputs.size(); ++i) {
    const std::string file = concat(path, ".in", i, ".npy");
    TILEWRIGHT_TRY(writeNpy(file, subject.inputs[i]));
    inputs += concat(inputs.empty() ? "" : " ", "--input=", file);
  }
  return inputs;
}

std::string replaced(std::string text, std::string_view what, const std::string &with) {
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

/// Whether the command exits with 0 when it is run on the program.
bool passesTest(const Subject &subject, const std::string &command, const std::string &path) {
  auto inputs = writeSubject(subject, path);
  if (!inputs.isOk())
    return false;
  std::string line = replaced(replaced(command, "{inputs}", *inputs), "{}", path);
  if (line == command)
    line += " " + path;
  return std::system(line.c_str()) == 0;
}

Result<std::vector<interpret::Tensor>> readInputs(const CommandLine &line,
                                                  mlir::func::FuncOp main) {
  std::vector<interpret::Tensor> inputs;
  const std::vector<std::string> given = line.all("input");
  if (!given.empty() && given.size() != main.getNumArguments())
    return Status(Error::inputMismatch,
                  concat("@main takes ", main.getNumArguments(), " inputs, got ", given.size(),
                         "; pass one --input for each, or none"));
  interpret::Context context;
  for (auto [i, type] : llvm::enumerate(main.getArgumentTypes())) {
    auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
    auto element = tensor ? interpret::elementTypeOf(tensor.getElementType()) : std::nullopt;
    if (!element || !tensor.hasStaticShape())
      return Status(Error::inputMismatch,
                    concat("parameter ", i, " must be a tensor of static shape"));
    if (given.empty()) {
      inputs.push_back(usualInput(tensor));
      continue;
    }
    Parameter parameter{*element, {}};
    for (int64_t size : tensor.getShape())
      parameter.dims.push_back(size);
    TILEWRIGHT_ASSIGN(interpret::Tensor input, readInput(given[i], parameter, context));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Status run(const CommandLine &line) {
  TILEWRIGHT_ASSIGN(std::string file, onlyFile(line, "tilewright-reduce"));
  const std::string command = line.last("test");
  if (command.empty() == !line.has("against") ||
      (line.has("against") && line.last("against") != "evaluator"))
    return Status(Error::commandUsage, "pass either --test='command {}' or --against=evaluator");
  const double seconds = std::atof(line.last("seconds", "20").c_str());
  if (!(seconds > 0))
    return Status(Error::flagValue, "--seconds must be a positive number");

  mlir::DialectRegistry registry;
  driver::registerCompilerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  Subject subject;
  TILEWRIGHT_ASSIGN(subject.program, loadProgram(context, file, line.options()));
  auto main = subject.module().lookupSymbol<mlir::func::FuncOp>("main");
  if (!main)
    return Status(Error::commandUsage, concat(file, " has no function @main"));
  TILEWRIGHT_ASSIGN(subject.inputs, readInputs(line, main));

  const std::string output = line.last("output", file + ".reduced.mlir");
  const std::string scratch = concat(output, ".", getpid(), ".try.mlir");
  std::string wanted;
  int64_t tried = 0;
  ReduceSettings settings;
  settings.isInteresting = [&](const Subject &candidate) {
    ++tried;
    return command.empty() ? failureOf(candidate, optionsOf(line), seconds) == wanted
                           : passesTest(candidate, command, scratch);
  };
  settings.progress = [&](const Subject &now, const std::string &what) {
    std::cerr << now.ops() << " ops, " << now.elements() << " elements: without " << what << "\n";
  };
  if (command.empty())
    wanted = failureOf(subject, optionsOf(line), seconds);
  if (command.empty() ? wanted.empty() : !settings.isInteresting(subject))
    return Status(
        Error::reduceNothing,
        command.empty()
            ? concat(file, " agrees with the evaluator; nothing to reduce")
            : concat("the test command must exit with 0 for the original program ", file));
  const int64_t before = subject.ops();
  Subject reduced = reduce(std::move(subject), settings);
  TILEWRIGHT_ASSIGN(std::string inputs, writeSubject(reduced, output));
  if (!command.empty()) {
    std::filesystem::remove(scratch);
    for (size_t i = 0; i < 64 && std::filesystem::remove(concat(scratch, ".in", i, ".npy")); ++i) {
    }
  }
  std::cout << textOf(reduced.module()) << "// " << reduced.ops() << " of " << before
            << " ops are left after " << tried << " programs";
  if (!wanted.empty())
    std::cout << "; each step " << (wanted == "differs" ? "differs from the evaluator" : wanted);
  std::cout << "\n// tilewright run " << output
            << (optionsOf(line).compile.target.empty()
                    ? " --on=cpu"
                    : " --target=" + optionsOf(line).compile.target)
            << (inputs.empty() ? "" : " ") << inputs << "\n";
  return {};
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string_view> arguments(argv + 1, argv + argc);
  for (std::string_view argument : arguments)
    if (argument == "--help") {
      std::cout
          << "tilewright-reduce: reduces a failing program to a few ops that still fail\n\n"
             "usage: tilewright-reduce FILE --against=evaluator [--input=…]… [--output=FILE]\n"
             "       tilewright-reduce FILE --test='COMMAND {}' [--input=…]… [--output=FILE]\n\n"
          << describe(flags)
          << "\nOptions of the compiler (--simplify.max-fold-elements=0) count as for "
             "tilewright.\n";
      return 0;
    }
  auto line = CommandLine::parse(arguments, flags);
  const Status status = line.isOk() ? run(*line) : std::move(line).takeStatus();
  if (!status.isOk())
    std::cerr << status.toString() << "\n";
  return status.isOk() ? 0 : 1;
}
