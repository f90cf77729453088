#include "GpuKernels.h"

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/interpret/EvaluateTile.h"
#include "tilewright/interpret/TileScalars.h"
#include "tilewright/support/Concat.h"
#include "tilewright/target/nvptx/Codegen.h"
#include "tilewright/transform/tile/Passes.h"
#include "tilewright/vgpu/include/tilewright_vgpu.h"

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

using interpret::Scalar;
using interpret::Tensor;
using numerics::ElementType;

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

/// PTX of a module given as text of LLVM IR.
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
  std::uniform_real_distribution<double> real(-comparison.range, comparison.range);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    if (numerics::isComplex(element))
      tensor.set(i, Scalar::ofComplex({float(real(random)), float(real(random))}));
    else if (numerics::isReal(element))
      // Encoded and read again, so that it is a value of the type.
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

/// Memory with a pattern behind the end that must stay.
class Memory {
public:
  explicit Memory(int64_t bytes)
      : bytes(size_t(bytes)), data(std::aligned_alloc(256, (this->bytes + 511) / 256 * 256)) {
    std::memset(data, 0xA5, (this->bytes + 511) / 256 * 256);
  }
  Memory(const Memory &) = delete;
  ~Memory() { std::free(data); }
  bool isIntact() const {
    auto *at = static_cast<const unsigned char *>(data);
    return std::all_of(at + bytes, at + (bytes + 511) / 256 * 256,
                       [](unsigned char byte) { return byte == 0xA5; });
  }
  const size_t bytes;
  void *const data;
};

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

/// The number of an element type in CUtensorMapDataType.
static uint32_t tensorMapType(mlir::Type type) {
  return type.isF16() ? 6 : type.isBF16() ? 9 : type.isF32() ? 7 : 0;
}

std::string compareWithEvaluator(std::string_view text, std::string_view chipName,
                                 const Comparison &comparison) {
  const Chip &chip = *chipNamed(chipName);
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(text);
  // A tile.kernel is evaluated as it is, and gets its roles afterwards.
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
    attachTarget(*module, chip, comparison.processors);
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
  // One chip speaks for both that the virtual GPU runs: the code is the same but for its header.
  if (const Ptxas *assembler = chip.name == "sm_80" ? nullptr : ptxas()) {
    Result<Assembled> made = assembler->assemble(code->ptx, chip);
    if (!made.isOk())
      return std::move(made).takeStatus().toString();
    // Kernels with roles have budgets; others are tests of what a thread can be asked to hold.
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

  // The virtual GPU runs what it has; later chips are only assembled.
  char *error = nullptr;
  std::string name(chip.name);
  if (chip.name != "sm_80" && chip.name != "sm_90a")
    return "";
  auto fail = [&](std::string what) {
    what = concat(what, ": ", error ? error : "");
    tilewright_vgpu_free_error(error);
    return what;
  };
  tilewright_vgpu_module *loaded = tilewright_vgpu_load(code->ptx.c_str(), name.c_str(), &error);
  if (!loaded)
    return fail("loading");
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<const void *> arguments;
  for (const Tensor &input : inputs) {
    memory.push_back(std::make_unique<Memory>(input.byteCount()));
    std::memcpy(memory.back()->data, input.data(), memory.back()->bytes);
  }
  for (const Tensor &output : *expected)
    memory.push_back(std::make_unique<Memory>(output.byteCount()));
  for (const auto &piece : memory)
    arguments.push_back(&piece->data);
  std::vector<std::unique_ptr<Memory>> maps;
  for (const TensorMapInfo &map : info.tensorMaps) {
    maps.push_back(std::make_unique<Memory>(128));
    std::vector<uint64_t> dims(map.dims.begin(), map.dims.end()),
        strides(map.byteStrides.begin(), map.byteStrides.end());
    std::vector<uint32_t> box(map.box.begin(), map.box.end()), ones(map.dims.size(), 1);
    if (tilewright_vgpu_encode_tensor_map(maps.back()->data, tensorMapType(map.elementType),
                                          uint32_t(dims.size()), memory[size_t(map.argument)]->data,
                                          dims.data(), strides.data(), box.data(), ones.data(),
                                          /*swizzle=*/3, 0, &error) != 0)
      return fail("making a tensor map");
    arguments.push_back(maps.back()->data);
  }
  tilewright_vgpu_config config = {};
  for (size_t dim = 0; dim < 3; ++dim)
    config.grid[dim] = uint32_t(info.grid[dim]);
  config.block[0] = uint32_t(info.threads);
  config.block[1] = config.block[2] = 1;
  config.dynamic_shared_bytes = uint32_t(info.sharedBytes);
  config.seed = comparison.seed;
  config.completion = comparison.completion;
  size_t findings = 0;
  char *report = nullptr;
  int failed =
      tilewright_vgpu_launch_checked(loaded, info.symbol.c_str(), &config, arguments.data(),
                                     arguments.size(), "all", "text", &findings, &report, &error);
  std::string found = findings ? std::string(report) : "";
  tilewright_vgpu_free_error(report);
  tilewright_vgpu_unload(loaded);
  if (failed)
    return fail("running");
  if (!found.empty())
    return found;
  for (const auto &piece : memory)
    if (!piece->isIntact())
      return "written behind the end of a buffer";
  for (size_t i = 0; i < expected->size(); ++i) {
    const Tensor &wanted = (*expected)[i];
    Tensor got =
        Tensor::view(wanted.type(), wanted.shape(),
                     static_cast<const std::byte *>(memory[inputs.size() + i]->data), nullptr);
    if (std::string problem = difference(got, wanted, comparison.tolerance); !problem.empty())
      return concat("output ", i, ": ", problem);
  }
  return "";
}

} // namespace tilewright::nvptx
