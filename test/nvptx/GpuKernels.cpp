#include "test/nvptx/GpuKernels.h"

#include "test/nvptx/VirtualGpu.h"
#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/interpret/evaluate/EvaluateTile.h"
#include "tilewright/interpret/evaluate/TileScalars.h"
#include "tilewright/support/Concat.h"
#include "tilewright/target/nvptx/Codegen.h"
#include "tilewright/transform/tile/Passes.h"
#include "tilewright/transform/tile/testing/Launches.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Support/SourceMgr.h"

#include <cmath>
#include <cstring>
#include <random>

namespace tilewright::nvptx {

using interpret::Tensor;
using numerics::ElementType;
using numerics::Scalar;

static mlir::MLIRContext &context() {
  static mlir::MLIRContext *made = [] {
    mlir::DialectRegistry registry;
    registry.insert<sm::SmDialect, tile::TileDialect, mlir::affine::AffineDialect,
                    mlir::arith::ArithDialect, mlir::complex::ComplexDialect,
                    mlir::func::FuncDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                    mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
    return new mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
  }();
  return *made;
}

static mlir::OwningOpRef<mlir::ModuleOp> parse(std::string_view text) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(llvm::StringRef(text.data(), text.size()),
                                                        &context());
  if (!module) {
    llvm::errs() << llvm::StringRef(text.data(), text.size()) << "\n";
    llvm::report_fatal_error("the module of a test cannot be parsed");
  }
  return module;
}

Result<GpuCode> compileText(std::string_view text, const Chip &chip) {
  return generateCode(*parse(text), chip);
}

const Ptxas *ptxas() {
  static const std::optional<Ptxas> found = []() -> std::optional<Ptxas> {
    Result<Ptxas> result = Ptxas::find();
    if (!result.isOk()) {
      std::printf("not assembled: %s\n", std::move(result).takeStatus().toString().c_str());
      return std::nullopt;
    }
    return *std::move(result);
  }();
  return found ? &*found : nullptr;
}

/// Compiles the text of LLVM IR to PTX.
static std::string compileLlvm(const std::string &text, const Chip &chip) {
  llvm::LLVMContext llvm;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, diagnostic, llvm);
  if (!module) {
    diagnostic.print("test", llvm::errs());
    llvm::report_fatal_error("the LLVM IR of a test cannot be parsed");
  }
  std::unique_ptr<llvm::TargetMachine> machine = *createTargetMachine(chip);
  optimize(*module, *machine);
  return *emitPtx(*module, *machine);
}

static Tensor randomTensor(mlir::MemRefType type, std::mt19937_64 &random,
                           const Comparison &comparison, interpret::Context &evaluation) {
  auto element = *interpret::signlessTypeOf(type.getElementType());
  Tensor tensor = *Tensor::allocate(element, *numerics::Shape::create(type.getShape()), evaluation);
  std::uniform_real_distribution<double> any(-comparison.range, comparison.range);
  auto real = [&](std::mt19937_64 &random) {
    const double number = any(random);
    return comparison.step ? std::round(number / comparison.step) * comparison.step : number;
  };
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    if (numerics::isComplex(element))
      tensor.set(i, Scalar::ofComplex({float(real(random)), float(real(random))}));
    else if (numerics::isReal(element))
      // Encoded and decoded again, so that the value is representable in the type.
      tensor.set(i, Scalar::ofReal(real(random)));
    else if (element == ElementType::pred)
      tensor.set(i, Scalar::ofUnsigned(random() & 1));
    else if (comparison.below)
      tensor.set(i, Scalar::ofSigned(int64_t(random() % uint64_t(comparison.below))));
    else if (numerics::isSigned(element))
      tensor.set(i, Scalar::ofSigned(int64_t(random()) >> (64 - numerics::bitWidth(element))));
    else
      tensor.set(i, Scalar::ofUnsigned(random() >> (64 - numerics::bitWidth(element))));
  }
  return tensor;
}

static bool isClose(double got, double expected, double tolerance) {
  if (std::isnan(got) || std::isnan(expected))
    return std::isnan(got) == std::isnan(expected);
  if (got == expected)
    return tolerance > 0 || std::signbit(got) == std::signbit(expected);
  return std::fabs(got - expected) <= tolerance * std::max(1.0, std::fabs(expected));
}

static std::string difference(const Tensor &got, const Tensor &expected, double tolerance) {
  for (int64_t i = 0; i < got.elementCount(); ++i) {
    Scalar a = got.at(i), c = expected.at(i);
    bool isEqual;
    if (numerics::isComplex(got.type()))
      isEqual = isClose(a.r, c.r, tolerance) && isClose(a.im, c.im, tolerance);
    else if (numerics::isReal(got.type()))
      isEqual = isClose(a.r, c.r, tolerance);
    else
      isEqual = a.i == c.i;
    if (!isEqual)
      return concat("element ", i, " of ", got.typeString(), " is ",
                    interpret::toString(got.type(), a), " instead of ",
                    interpret::toString(got.type(), c));
  }
  return "";
}

std::string compareWithEvaluator(std::string_view text, std::string_view chipName,
                                 const Comparison &comparison) {
  const Chip &chip = *chipNamed(chipName);
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(text);
  // Evaluate a tile.kernel before it gets its roles.
  interpret::Context evaluation;
  std::mt19937_64 random(comparison.seed);
  std::vector<Tensor> inputs;
  std::optional<Result<std::vector<Tensor>>> expectedOfTile;
  if (auto kernels = module->getOps<tile::KernelOp>(); !kernels.empty()) {
    tile::KernelOp kernel = *kernels.begin();
    for (mlir::Value input : kernel.getInputs())
      inputs.push_back(randomTensor(mlir::cast<mlir::MemRefType>(input.getType()), random,
                                    comparison, evaluation));
    expectedOfTile.emplace(interpret::evaluateKernel(kernel, inputs, evaluation));
    attachTarget(*module, chip, comparison.multiprocessors);
    mlir::PassManager passes(&context());
    passes.addPass(tile::createTilePipelinePass());
    if (mlir::failed(passes.run(*module)) || mlir::failed(mlir::verify(*module)))
      return "tile-pipeline fails";
    if (module->getOps<sm::KernelOp>().empty())
      return "tile-pipeline leaves the kernel as it is";
  }
  sm::KernelOp kernel = *module->getOps<sm::KernelOp>().begin();
  if (comparison.raster)
    kernel.setRaster(uint64_t(comparison.raster));
  std::string llvmText;
  CodegenOptions options;
  options.dumpLevel = "llvm";
  options.dump = [&](std::string_view text) { llvmText = text; };
  Result<GpuCode> code = generateCode(*module, chip, options);
  if (!code.isOk())
    return std::move(code).takeStatus().toString();
  if (comparison.change)
    code->ptx = compileLlvm(comparison.change(llvmText), chip);
  const KernelInfo &info = code->kernels.front();
  if (code->ptx.find("f32x2") != std::string::npos)
    return "the PTX computes with pairs of f32";
  // If the code for both chips of the virtual GPU differs only in its header, assemble it for one
  // of them. Products differ.
  if (const Ptxas *assembler = chip.name == "sm_80" && !expectedOfTile ? nullptr : ptxas()) {
    Result<Assembled> made = assembler->assemble(code->ptx, chip);
    if (!made.isOk())
      return std::move(made).takeStatus().toString();
    // Kernels with roles have register budgets; other tests may need more registers than a thread
    // has.
    if (expectedOfTile && made->kernels[0].spillStoreBytes != 0)
      return concat("ptxas spills ", made->kernels[0].spillStoreBytes, " bytes");
    if (Status status = checkLaunch(chip, info.name, info.threads, made->kernels[0].registers);
        !status.isOk())
      return status.toString();
  }

  if (!expectedOfTile)
    for (mlir::Value input : kernel.getInputs())
      inputs.push_back(randomTensor(mlir::cast<mlir::MemRefType>(input.getType()), random,
                                    comparison, evaluation));
  Result<std::vector<Tensor>> expected =
      expectedOfTile ? *std::move(expectedOfTile)
                     : interpret::evaluateKernel(kernel, inputs, evaluation);
  if (!expected.isOk())
    return concat("the evaluator: ", std::move(expected).takeStatus().toString());

  VirtualGpu gpu;
  if (std::string problem = gpu.load(*code, std::string(chip.name)); !problem.empty())
    return concat("loading: ", problem);
  std::vector<std::unique_ptr<tile::GuardedMemory>> memory;
  std::vector<void *> buffers;
  auto add = [&](const Tensor &tensor) {
    memory.push_back(
        std::make_unique<tile::GuardedMemory>(static_cast<size_t>(tensor.byteCount())));
    buffers.push_back(memory.back()->data);
  };
  for (const Tensor &input : inputs) {
    add(input);
    std::memcpy(buffers.back(), input.data(), memory.back()->bytes);
  }
  for (const Tensor &output : *expected)
    add(output);
  const llvm::ArrayRef<int64_t> updates = kernel.getUpdates().value_or(llvm::ArrayRef<int64_t>());
  for (size_t i = 0; i + 1 < updates.size(); i += 2)
    buffers[inputs.size() + static_cast<size_t>(updates[i])] =
        buffers[static_cast<size_t>(updates[i + 1])];
  if (std::string problem = gpu.run(info.name, buffers, comparison.completion, comparison.seed);
      !problem.empty())
    return problem;
  for (const auto &piece : memory)
    if (!piece->isIntact())
      return "written behind the end of a buffer";
  for (size_t i = 0; i < expected->size(); ++i) {
    const Tensor &wanted = (*expected)[i];
    Tensor got = Tensor::view(wanted.type(), wanted.shape(),
                              static_cast<const std::byte *>(buffers[inputs.size() + i]), nullptr);
    if (std::string problem = difference(got, wanted, comparison.tolerance); !problem.empty())
      return concat("output ", i, ": ", problem);
  }
  return "";
}

} // namespace tilewright::nvptx
