// Reads programs, evaluates them, transforms them, evaluates them again: the results must be the
// same. usage:
//   check-transforms simplify|fuse FOLDER [--every=N] [--fold=N] [--print] [NAME…]
//
// A program without inputs is also judged by its own check.* calls. Others get inputs made from
// their types, the same in every run. --every=N takes each N-th program, --fold=N sets
// simplify.max-fold-elements, --print and --summary show the result, --no-run only transforms; NAME
// takes only programs whose name contains it.
#include "tilewright/import/ArtifactFile.h"
#include "tilewright/import/Import.h"
#include "tilewright/interpret/Checks.h"
#include "tilewright/interpret/Evaluator.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/fuse/Passes.h"
#include "tilewright/transform/simplify/Passes.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace tilewright;
using interpret::RuntimeValue;
using interpret::RuntimeValues;
using interpret::Tensor;

/// CTest's SKIP_RETURN_CODE.
static constexpr int skipped = 77;
/// Rewrites such as x^3 to products, or a sum in another order, change the last bits.
static constexpr int64_t allowedUlps = 8;

struct Settings {
  std::string stage;
  Options options;
  bool print = false, summary = false, evaluate = true;
};

struct Outcome {
  Status status;
  size_t opsBefore = 0, opsAfter = 0;
  double seconds = 0;
  /// The program cannot be run even before the transformation.
  bool unusable = false;
};

/// Small numbers that are exact in most types, deterministic for a name.
static Result<RuntimeValue> inputOf(mlir::Type type, std::mt19937 &random) {
  auto tensorType = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensorType || !tensorType.hasStaticShape())
    return Status(Code::unimplemented, "an input is no tensor of static shape");
  auto element = interpret::elementTypeOf(tensorType.getElementType());
  if (!element)
    return Status(Code::unimplemented, "an input has no element type");
  interpret::Context context;
  TILEWRIGHT_ASSIGN(numerics::Shape shape, numerics::Shape::create(tensorType.getShape()));
  TILEWRIGHT_ASSIGN(Tensor tensor, Tensor::allocate(*element, shape, context));
  std::uniform_int_distribution<int> draw(-24, 24);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const int number = draw(random);
    numerics::Scalar scalar;
    if (numerics::isComplex(*element))
      scalar = numerics::Scalar::ofComplex({number / 8.0, draw(random) / 8.0});
    else if (numerics::isReal(*element))
      scalar = numerics::Scalar::ofReal(number / 8.0);
    else if (*element == numerics::ElementType::pred)
      scalar = numerics::Scalar::ofUnsigned(number & 1);
    else if (numerics::isUnsigned(*element))
      scalar = numerics::Scalar::ofUnsigned(static_cast<uint64_t>(number + 24) % 4);
    else
      scalar = numerics::Scalar::ofSigned(number % 4);
    tensor.set(i, scalar);
  }
  return RuntimeValue(std::move(tensor));
}

static Status compare(const RuntimeValue &after, const RuntimeValue &before) {
  if (before.isTuple() && after.isTuple()) {
    for (size_t i = 0; i < before.elements().size(); ++i)
      TILEWRIGHT_TRY(compare(after.elements()[i], before.elements()[i]));
    return Status();
  }
  if (!before.isTensor() || !after.isTensor())
    return Status();
  if (interpret::expectClose(after.tensor(), before.tensor(), allowedUlps).isOk())
    return Status();
  // A sum that cancels may differ by many ulps but little in value.
  return interpret::expectAlmostEqual(after.tensor(), before.tensor(), 1e-5);
}

static size_t countOps(mlir::ModuleOp module) {
  size_t count = 0;
  module.walk([&](mlir::Operation *) { ++count; });
  return count;
}

static Result<mlir::OwningOpRef<mlir::ModuleOp>>
load(const std::filesystem::path &path, mlir::MLIRContext &context, const Options &options) {
  if (path.extension() == ".mlir") {
    loadImportDialects(context);
    auto module = mlir::parseSourceFile<mlir::ModuleOp>(path.string(), &context);
    if (!module)
      return Status(Code::invalidArgument, "the text cannot be parsed");
    return module;
  }
  TILEWRIGHT_ASSIGN(ArtifactFile file, ArtifactFile::open(path.string(), options.import));
  return importArtifact(context, file, options.import);
}

static int64_t sizeAttr(mlir::ModuleOp module, llvm::StringRef name) {
  auto attribute = module->getAttrOfType<mlir::IntegerAttr>(name);
  return attribute ? attribute.getInt() : 1;
}

static Status runFile(const std::filesystem::path &path, const Settings &settings,
                      Outcome &outcome) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  outcome.unusable = true;
  TILEWRIGHT_ASSIGN(auto module, load(path, context, settings.options));
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  if (!main)
    return Status(Code::invalidArgument, "there is no @main");
  interpret::RankGrid grid{sizeAttr(*module, "mhlo.num_replicas"),
                           sizeAttr(*module, "mhlo.num_partitions")};
  std::mt19937 random(12345);
  RuntimeValues inputs;
  for (mlir::Type type : main.getArgumentTypes()) {
    TILEWRIGHT_ASSIGN(RuntimeValue input, inputOf(type, random));
    inputs.push_back(std::move(input));
  }
  std::vector<RuntimeValues> perRank(static_cast<size_t>(grid.count()), inputs);
  TILEWRIGHT_ASSIGN(
      std::vector<RuntimeValues> before,
      interpret::evaluateRanks(*module, "main", grid, perRank, settings.options.interpret));
  outcome.unusable = false;
  outcome.opsBefore = countOps(*module);

  std::string complaints;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &found) {
    complaints += found.str() + "\n";
    return mlir::success();
  });
  mlir::PassManager passes(&context);
  simplify::buildSimplifyPipeline(passes, settings.options.simplify);
  if (settings.stage == "fuse")
    fuse::buildFusePipeline(passes, settings.options.fuse);
  const auto start = std::chrono::steady_clock::now();
  const bool transformed = mlir::succeeded(passes.run(*module));
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (settings.print)
    module->print(llvm::outs(), mlir::OpPrintingFlags().elideLargeElementsAttrs(16));
  if (settings.summary)
    llvm::outs() << path.filename().string() << "\n" << fuse::summarizeFusions(*module);
  if (!transformed)
    return Status(Code::internal, concat("the pipeline failed: ", complaints));
  outcome.opsAfter = countOps(*module);
  if (!settings.evaluate)
    return Status();
  TILEWRIGHT_ASSIGN(std::vector<RuntimeValues> after,
                    interpret::evaluateRanks(*module, "main", grid, std::move(perRank),
                                             settings.options.interpret));
  for (size_t rank = 0; rank < before.size(); ++rank) {
    if (before[rank].size() != after[rank].size())
      return Status(Code::internal, "the number of results has changed");
    for (size_t i = 0; i < before[rank].size(); ++i)
      TILEWRIGHT_TRY(
          compare(after[rank][i], before[rank][i]).during(concat("comparing result ", i)));
  }
  return Status();
}

int main(int argc, char **argv) {
  Settings settings;
  std::vector<std::string> names;
  size_t every = 1;
  bool verbose = false;
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--every="))
      every = std::max(1ul, std::stoul(argument.substr(8)));
    else if (argument.starts_with("--fold="))
      settings.options.simplify.maxFoldElements = std::stol(argument.substr(7));
    else if (argument == "--print")
      settings.print = true;
    else if (argument == "--summary")
      settings.summary = true;
    else if (argument == "--no-run")
      settings.evaluate = false;
    else if (argument == "--verbose")
      verbose = true;
    else
      names.push_back(argument);
  }
  if (argc < 3) {
    std::fprintf(stderr, "usage: check-transforms STAGE FOLDER [--every=N] [--fold=N] [NAME...]\n");
    return 2;
  }
  settings.stage = argv[1];
  const std::filesystem::path folder = argv[2];
  if (!std::filesystem::is_directory(folder)) {
    std::printf("skipped: no programs in '%s'\n", folder.c_str());
    return skipped;
  }
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool wanted = names.empty() || std::ranges::any_of(names, [&](const std::string &part) {
                          return name.find(part) != name.npos;
                        });
    if ((name.ends_with(".mlirbc") || name.ends_with(".mlir")) && wanted)
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (every > 1) {
    std::vector<std::filesystem::path> sample;
    for (size_t i = 0; i < files.size(); i += every)
      sample.push_back(files[i]);
    files = std::move(sample);
  }

  std::vector<Outcome> outcomes(files.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < files.size(); i = next++)
      outcomes[i].status = runFile(files[i], settings, outcomes[i]);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back(work);
  for (std::thread &thread : threads)
    thread.join();

  size_t same = 0, unusable = 0, failed = 0, opsBefore = 0, opsAfter = 0;
  double seconds = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    const Outcome &outcome = outcomes[i];
    same += outcome.status.isOk();
    unusable += outcome.unusable;
    opsBefore += outcome.opsBefore;
    opsAfter += outcome.opsAfter;
    seconds += outcome.seconds;
    if (verbose && outcome.status.isOk())
      std::printf("same %s: %zu -> %zu ops, %.4f s\n", files[i].filename().c_str(),
                  outcome.opsBefore, outcome.opsAfter, outcome.seconds);
    if (outcome.status.isOk() || (outcome.unusable && !verbose))
      continue;
    failed += !outcome.unusable;
    std::printf("%s %s: %s\n", outcome.unusable ? "skip" : "FAIL", files[i].filename().c_str(),
                outcome.status.toString().c_str());
  }
  std::printf("%zu of %zu programs mean the same, %zu could not be run before either; "
              "%zu ops became %zu in %.2f s\n",
              same, files.size(), unusable, opsBefore, opsAfter, seconds);
  return files.empty() || failed != 0;
}
