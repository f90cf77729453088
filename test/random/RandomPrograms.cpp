// random-programs: makes random programs and compares their compiled results with the evaluator.
//
//   random-programs compare  [--target=CHIP] [--narrow] [--first=N] [--count=N] [--jobs=N]
//   [--keep=DIR] random-programs mutate   [--first=N] [--count=N] [--jobs=N] [--seconds=S]
//   random-programs coverage [--count=N]
//   random-programs print SEED [--jaxlib] [--narrow]
//   random-programs export FOLDER [--first=N] [--count=N]
#include "test/random/Mutate.h"
#include "test/random/Program.h"
#include "tools/tilewright-reduce/AgainstEvaluator.h"
#include "tools/tilewright-reduce/Isolate.h"
#include "tools/tilewright/input/Inputs.h"

#include "tilewright/driver/Compile.h"
#include "tilewright/import/Export.h"
#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

using namespace tilewright;
using namespace tilewright::random;
using tools::AgainstEvaluator;
using tools::Outcome;
using tools::runIsolated;
using tools::Verdict;

namespace {

struct Arguments {
  std::string command, folder, keep, target;
  uint64_t first = 0, count = 100, seed = 0;
  int jobs = 2, ops = 12;
  double seconds = 20;
  bool forJaxlib = false, donates = true, narrow = false;
};

/// Rejections with an error id that do not count as failures. Every line is a limitation of a
/// target that README.md names.
struct Refusal {
  Error error;
  const char *words; // part of the message
};
constexpr std::array<Refusal, 0> refusals = {};

bool isListed(const Verdict &verdict) {
  return std::ranges::any_of(refusals, [&](const Refusal &refusal) {
    return verdict.error == refusal.error && verdict.what.find(refusal.words) != std::string::npos;
  });
}

struct Context {
  mlir::DialectRegistry registry;
  mlir::MLIRContext context;
  Context() : context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
  }
  const mlir::DialectRegistry &makeRegistry() {
    driver::registerCompilerDialects(registry);
    return registry;
  }
};

/// Writes the inputs as STEM.inK.npy.
Status writeInputs(const std::string &stem, const RandomProgram &program) {
  for (size_t i = 0; i < program.inputs.size(); ++i)
    TILEWRIGHT_TRY(tools::writeNpy(concat(stem, ".in", i, ".npy"), program.inputs[i].tensor()));
  return Status();
}

std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

/// The record that a child sends to its parent: kind, counts, text.
std::string compareOne(AgainstEvaluator &judge, uint64_t seed, const Arguments &arguments) {
  Context mlir;
  RandomProgram program =
      randomProgram(mlir.context, seed, {arguments.ops, false, arguments.narrow});
  mlir::ScopedDiagnosticHandler quiet(&mlir.context,
                                      [](mlir::Diagnostic &) { return mlir::success(); });
  Verdict verdict = judge.check(*program.module, program.inputs);
  if (verdict.kind == Verdict::Kind::refused && isListed(verdict))
    verdict.kind = Verdict::Kind::agrees, verdict.runs = 0;
  const bool isFine = verdict.kind == Verdict::Kind::agrees;
  if (!isFine && !arguments.keep.empty()) {
    std::filesystem::create_directories(arguments.keep);
    const std::string stem = concat(arguments.keep, "/", seed);
    std::ofstream(stem + ".mlir") << textOf(*program.module);
    Status status = writeInputs(stem, program);
    // A command that reduces the program, ready to be pasted.
    verdict.what += concat("\n  tilewright-reduce ", stem, ".mlir --against=evaluator",
                           arguments.target.empty() ? "" : " --target=" + arguments.target);
    for (size_t i = 0; i < program.inputs.size() && status.isOk(); ++i)
      verdict.what += concat(" --input=", stem, ".in", i, ".npy");
    if (!status.isOk())
      verdict.what += concat("\n  ", status.toString());
  }
  return concat(static_cast<int>(verdict.kind), " ", verdict.runs, " ", verdict.compared.exact, " ",
                verdict.compared.bounded, " ", verdict.compared.unknown, " ",
                nameOf(program.flavour), " ", verdict.what);
}

int compareAll(const Arguments &arguments) {
  int64_t kinds[6] = {}, runs = 0, died = 0, hung = 0, unlisted = 0;
  interpret::Compared compared;
  std::map<std::string, int64_t> refusedBy;
  auto report = [&](const Outcome &outcome) {
    if (outcome.kind != Outcome::Kind::ended) {
      ++(outcome.kind == Outcome::Kind::died ? died : hung);
      std::cout << "program " << outcome.job
                << (outcome.kind == Outcome::Kind::died ? " died: " : " hung: ") << outcome.text
                << std::endl;
      return;
    }
    std::istringstream words(outcome.text);
    int kind = 0;
    int64_t ran = 0;
    interpret::Compared here;
    std::string flavour, what;
    words >> kind >> ran >> here.exact >> here.bounded >> here.unknown >> flavour;
    std::getline(words, what);
    ++kinds[kind];
    runs += ran;
    compared += here;
    if (kind == 0) {
      unlisted += ran == 0;
      return;
    }
    static constexpr const char *names[] = {"agrees", "differs",       "is refused",
                                            "fails",  "is not judged", "is reported"};
    std::string rest((std::istreambuf_iterator<char>(words)), {});
    std::cout << "program " << outcome.job << " (" << flavour << ") " << names[kind] << ":" << what
              << (rest.empty() ? "" : " " + rest.substr(0, 1500)) << std::endl;
  };
  auto start = [&]() -> std::function<std::string(uint64_t)> {
    Options options;
    options.interpret.maxSteps = int64_t(1) << 26;
    options.compile.target = arguments.target;
    auto made = AgainstEvaluator::create(options);
    if (!made.isOk()) {
      std::cerr << std::move(made).takeStatus().toString() << std::endl;
      std::abort();
    }
    auto judge = std::shared_ptr<AgainstEvaluator>(std::move(*made));
    judge->donates = arguments.donates;
    return [judge, &arguments](uint64_t seed) { return compareOne(*judge, seed, arguments); };
  };
  runIsolated({arguments.first, arguments.count, arguments.jobs, arguments.seconds, 0}, start,
              report);
  std::cout << kinds[0] << " of " << arguments.count << " programs agree with the evaluator in "
            << runs << " runs; " << kinds[1] << " differ, " << kinds[2] << " are refused (and "
            << unlisted << " as listed), " << kinds[3] << " fail, " << kinds[5] << " are reported, "
            << kinds[4] << " cannot be judged, " << died << " die, " << hung
            << " hang\nelements compared: " << compared.exact << " exactly, " << compared.bounded
            << " within the bound of their terms, " << compared.unknown << " not known\n";
  const int64_t known = compared.exact + compared.bounded;
  // If most bounds were unknown, every result would pass.
  const bool saysEnough = known >= 3 * compared.unknown;
  if (!saysEnough)
    std::cout << "more than a quarter of all elements is not known: the test says too little\n";
  return kinds[0] == static_cast<int64_t>(arguments.count) && saysEnough ? 0 : 1;
}

std::string mutateOne(uint64_t seed, const Arguments &arguments) {
  Context mlir;
  RandomProgram program =
      randomProgram(mlir.context, seed / 8, {arguments.ops, false, arguments.narrow});
  mlir::ScopedDiagnosticHandler quiet(&mlir.context,
                                      [](mlir::Diagnostic &) { return mlir::success(); });
  Draw draw(seed ^ 0xABCDEF);
  mlir::ModuleOp module = program.module.release();
  const std::string done = mutate(module, draw, static_cast<int>(draw.number(1, 4)));
  mlir::OwningOpRef<mlir::ModuleOp> owner(module);
  driver::CompileRequest request;
  request.options.runtime.threads = 1;
  if (seed % 2)
    request.options.simplify.maxFoldElements = 0;
  Status status;
  if (!arguments.keep.empty()) {
    std::filesystem::create_directories(arguments.keep);
    std::ofstream(concat(arguments.keep, "/", seed, ".mlir")) << textOf(module);
  }
  driver::runOnLargeStack([&] { status = driver::compile(module, request).takeStatus(); });
  // Keep the programs that crashed, hung, failed without an error id, or failed with an error that
  // is the compiler's fault.
  const bool isOurFault = !status.isOk() && (!status.error() || status.code() == Code::internal ||
                                             status.error() == Error::compileStage);
  if (!arguments.keep.empty() && !isOurFault)
    std::filesystem::remove(concat(arguments.keep, "/", seed, ".mlir"));
  if (status.isOk())
    return concat("ok ", done);
  return concat(status.error() ? "refused " : "uncoded ", status.toString(), " [", done, "]");
}

int mutateAll(const Arguments &arguments) {
  int64_t compiled = 0, refused = 0, uncoded = 0, died = 0, hung = 0;
  std::map<std::string, int64_t> codes;
  double longest = 0;
  auto report = [&](const Outcome &outcome) {
    longest = std::max(longest, outcome.seconds);
    if (outcome.kind != Outcome::Kind::ended) {
      ++(outcome.kind == Outcome::Kind::died ? died : hung);
      std::cout << "mutant " << outcome.job
                << (outcome.kind == Outcome::Kind::died ? " died: " : " hung: ") << outcome.text
                << std::endl;
    } else if (outcome.text.starts_with("ok")) {
      ++compiled;
    } else if (outcome.text.starts_with("refused")) {
      ++refused;
      if (++codes[outcome.text.substr(8, 5)] == 1 ||
          outcome.text.find("gave no reason") != std::string::npos)
        std::cout << "mutant " << outcome.job << " " << outcome.text.substr(0, 600) << std::endl;
    } else {
      ++uncoded;
      std::cout << "mutant " << outcome.job << " " << outcome.text.substr(0, 600) << std::endl;
    }
  };
  auto start = [&]() -> std::function<std::string(uint64_t)> {
    return [&arguments](uint64_t seed) { return mutateOne(seed, arguments); };
  };
  runIsolated({arguments.first, arguments.count, arguments.jobs, arguments.seconds, 0}, start,
              report);
  std::cout << arguments.count << " mutants: " << compiled << " compiled, " << refused
            << " refused with a code, " << uncoded << " without, " << died << " died, " << hung
            << " hung; the longest took " << longest << " s of processor time\n";
  for (const auto &[code, count] : codes)
    std::cout << "  " << code << " " << count << "\n";
  return uncoded + died + hung == 0 ? 0 : 1;
}

/// Ops of the dialect that no random program contains, each with its reason.
struct LeftOut {
  const char *op, *why;
};
constexpr LeftOut leftOut[] = {
    {"all_gather", "several ranks: test/jax/test_random_split.py"},
    {"all_reduce", "several ranks: test/jax/test_random_split.py"},
    {"all_to_all", "several ranks: test/jax/test_random_split.py"},
    {"async_done", "several ranks"},
    {"async_start", "several ranks"},
    {"collective_broadcast", "several ranks"},
    {"collective_permute", "several ranks: test/jax/test_random_split.py"},
    {"collective_reduce", "several ranks"},
    {"cross-replica-sum", "several ranks"},
    {"partition_id", "several ranks"},
    {"replica_id", "several ranks"},
    {"reduce_scatter", "several ranks"},
    {"custom_call", "what it means is the handler's"},
    {"infeed", "not on the CPU target"},
    {"outfeed", "not on the CPU target"},
    {"recv", "not on the CPU target"},
    {"send", "not on the CPU target"},
    {"rng", "its numbers are not defined"},
    {"uniform_quantize", "quantized types: not on the CPU target"},
    {"uniform_dequantize", "quantized types: not on the CPU target"},
};

int coverage(const Arguments &arguments) {
  Context mlir;
  std::map<std::string, int64_t> counts;
  for (uint64_t seed = arguments.first; seed < arguments.first + arguments.count; ++seed)
    countOps(*randomProgram(mlir.context, seed, {arguments.ops, arguments.forJaxlib}).module,
             counts);
  int missing = 0;
  for (mlir::RegisteredOperationName name : mlir.context.getRegisteredOperations()) {
    const llvm::StringRef full = name.getStringRef();
    if (!full.starts_with("stablehlo."))
      continue;
    const std::string op = full.drop_front(10).str();
    const char *why = nullptr;
    for (const LeftOut &row : leftOut)
      if (op == row.op)
        why = row.why;
    const int64_t count = counts[full.str()];
    std::printf("%-26s %8lld  %s\n", op.c_str(), static_cast<long long>(count), why ? why : "");
    if ((count == 0) != (why != nullptr)) {
      ++missing;
      std::printf("  ^ %s\n", why ? "occurs, although it is listed as left out" : "never occurs");
    }
  }
  std::printf("%d ops disagree with the table\n", missing);
  return missing == 0 ? 0 : 1;
}

int print(const Arguments &arguments) {
  Context mlir;
  RandomProgram program = randomProgram(mlir.context, arguments.seed,
                                        {arguments.ops, arguments.forJaxlib, arguments.narrow});
  std::cout << "// " << nameOf(program.flavour) << "\n" << textOf(*program.module);
  for (const interpret::RuntimeValue &input : program.inputs)
    std::cout << "// " << input.tensor().typeString() << " = " << input.tensor().toString(64)
              << "\n";
  return 0;
}

/// Writes for each program: N.mlirbc, its inputs N.inK.npy, the evaluator's results N.outK.npy and
/// the tolerances for other implementations, N.boundK.npy.
int exportAll(const Arguments &arguments) {
  std::filesystem::create_directories(arguments.folder);
  Context mlir;
  int64_t written = 0;
  for (uint64_t seed = arguments.first; seed < arguments.first + arguments.count; ++seed) {
    RandomProgram program = randomProgram(mlir.context, seed, {arguments.ops, true});
    InterpretOptions limits;
    limits.maxSteps = int64_t(1) << 26;
    auto expected = interpret::evaluateWithBounds(*program.module, "main", program.inputs,
                                                  interpret::Allowance::xla(), limits);
    auto artifact = exportArtifact(*program.module);
    if (!expected.isOk() || !artifact.isOk()) {
      std::cout << seed << ": "
                << (expected.isOk() ? std::move(artifact).takeStatus()
                                    : std::move(expected).takeStatus())
                       .toString()
                << "\n";
      continue;
    }
    const std::string stem = concat(arguments.folder, "/", seed);
    std::ofstream(stem + ".mlirbc", std::ios::binary) << *artifact;
    Status status = writeInputs(stem, program);
    for (size_t i = 0; i < expected->size() && status.isOk(); ++i) {
      status = tools::writeNpy(concat(stem, ".out", i, ".npy"), (*expected)[i].tensor());
      interpret::Context context;
      auto bounds = interpret::boundsTensor((*expected)[i], context);
      if (status.isOk())
        status = tools::writeNpy(concat(stem, ".bound", i, ".npy"), *bounds);
    }
    if (!status.isOk()) {
      std::cout << seed << ": " << status.toString() << "\n";
      return 1;
    }
    ++written;
  }
  std::cout << written << " of " << arguments.count << " programs written\n";
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Arguments arguments;
  std::vector<std::string> plain;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    auto value = [&](const char *flag) -> const char * {
      const size_t length = std::strlen(flag);
      return text.compare(0, length, flag) == 0 ? text.c_str() + length : nullptr;
    };
    if (const char *v = value("--first="))
      arguments.first = std::strtoull(v, nullptr, 10);
    else if (const char *v = value("--count="))
      arguments.count = std::strtoull(v, nullptr, 10);
    else if (const char *v = value("--jobs="))
      arguments.jobs = std::atoi(v);
    else if (const char *v = value("--ops="))
      arguments.ops = std::atoi(v);
    else if (const char *v = value("--seconds="))
      arguments.seconds = std::atof(v);
    else if (const char *v = value("--keep="))
      arguments.keep = v;
    else if (const char *v = value("--target="))
      arguments.target = v;
    else if (text == "--undonated")
      arguments.donates = false;
    else if (text == "--narrow")
      arguments.narrow = true;
    else if (text == "--jaxlib")
      arguments.forJaxlib = true;
    else
      plain.push_back(text);
  }
  if (!plain.empty())
    arguments.command = plain[0];
  if (plain.size() > 1) {
    arguments.folder = plain[1];
    arguments.seed = std::strtoull(plain[1].c_str(), nullptr, 10);
  }
  if (arguments.command == "compare")
    return compareAll(arguments);
  if (arguments.command == "mutate")
    return mutateAll(arguments);
  if (arguments.command == "coverage")
    return coverage(arguments);
  if (arguments.command == "print" && plain.size() > 1)
    return print(arguments);
  if (arguments.command == "export" && plain.size() > 1)
    return exportAll(arguments);
  std::fprintf(
      stderr,
      "usage: random-programs compare|mutate|coverage|print SEED|export FOLDER "
      "[--target=CHIP] [--first=N] [--count=N] "
      "[--jobs=N] [--ops=N] [--seconds=S] [--keep=DIR] [--jaxlib] [--narrow] [--undonated]\n");
  return 2;
}
