// The tests of transform/tile once more, with the kernels compiled for GPUs and run on the virtual
// GPU with every check on: this file takes the place of TestCompare.cpp and uses its inputs and its
// tolerances.
#define compareWithTiled compareWithEvaluated
#include "tilewright/transform/tile/TestCompare.cpp"
#undef compareWithTiled

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/target/nvptx/Target.h"
#include "tilewright/transform/tile/solve/Passes.h"
#include "tilewright/vgpu/include/tilewright_vgpu.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

namespace tilewright::tile {

namespace {

/// Memory of a device: aligned, with a pattern behind the end that must stay.
class Memory {
public:
  explicit Memory(size_t bytes) : bytes(bytes), data(std::aligned_alloc(256, size())) {
    std::memset(data, 0xA5, size());
  }
  Memory(const Memory &) = delete;
  ~Memory() { std::free(data); }
  bool isIntact() const {
    const auto *at = static_cast<const unsigned char *>(data);
    return std::all_of(at + bytes, at + size(), [](unsigned char byte) { return byte == 0xA5; });
  }
  size_t size() const { return bytes / 256 * 256 + 512; }
  const size_t bytes;
  void *const data;
};

/// The kernels of a module, loaded.
class VirtualGpu {
public:
  static std::string load(const nvptx::GpuCode &code, const std::string &chip, VirtualGpu &gpu) {
    char *error = nullptr;
    gpu.module.reset(tilewright_vgpu_load(code.ptx.c_str(), chip.c_str(), &error));
    for (const nvptx::KernelInfo &kernel : code.kernels)
      gpu.kernels[kernel.name] = kernel;
    return take(error);
  }

  /// What went wrong or was found, or "".
  std::string run(const std::string &name, const std::vector<void *> &buffers, uint64_t seed) {
    const nvptx::KernelInfo &kernel = kernels.at(name);
    // Nothing to compute, and nothing to launch: the driver leaves such a step out.
    if (llvm::is_contained(kernel.grid, 0))
      return "";
    tilewright_vgpu_config config = {};
    for (size_t i = 0; i < 3; ++i) {
      config.grid[i] = static_cast<uint32_t>(kernel.grid[i]);
      if (kernel.cluster != std::array<int64_t, 3>{1, 1, 1})
        config.cluster[i] = static_cast<uint32_t>(kernel.cluster[i]);
    }
    config.block[0] = static_cast<uint32_t>(kernel.threads);
    config.block[1] = config.block[2] = 1;
    config.dynamic_shared_bytes = static_cast<uint32_t>(kernel.sharedBytes);
    config.completion = static_cast<int>(seed % 3);
    config.seed = seed;
    std::vector<const void *> arguments;
    for (void *const &buffer : buffers)
      arguments.push_back(&buffer);
    size_t findings = 0;
    char *report = nullptr, *error = nullptr;
    std::vector<std::unique_ptr<Memory>> maps;
    for (const nvptx::TensorMapInfo &map : kernel.tensorMaps) {
      maps.push_back(std::make_unique<Memory>(128));
      std::vector<uint64_t> dims(map.dims.begin(), map.dims.end());
      std::vector<uint64_t> strides(map.byteStrides.begin(), map.byteStrides.end());
      std::vector<uint32_t> box(map.box.begin(), map.box.end()), ones(map.dims.size(), 1);
      // Numbers of CUtensorMapDataType: bytes are the same whatever they mean.
      const uint32_t element = map.elementType.isF16()    ? 6
                               : map.elementType.isBF16() ? 9
                               : map.elementType.isF32()  ? 7
                                                          : 0;
      if (tilewright_vgpu_encode_tensor_map(
              maps.back()->data, element, static_cast<uint32_t>(dims.size()),
              buffers[static_cast<size_t>(map.argument)], dims.data(), strides.data(), box.data(),
              ones.data(), /*swizzle=*/map.swizzleBytes == 64 ? 2 : 3, 0, &error) != 0)
        return concat("a tensor map of ", kernel.symbol, ": ", take(error));
      arguments.push_back(maps.back()->data);
    }
    if (tilewright_vgpu_launch_checked(module.get(), kernel.symbol.c_str(), &config,
                                       arguments.data(), arguments.size(), "all", "text", &findings,
                                       &report, &error) != 0)
      return concat("launch of ", kernel.symbol, ": ", take(error));
    const std::string found = take(report);
    return findings ? found : "";
  }

private:
  static std::string take(char *text) {
    std::string copy = text ? text : "";
    tilewright_vgpu_free_error(text);
    return copy;
  }
  struct Unload {
    void operator()(tilewright_vgpu_module *module) const { tilewright_vgpu_unload(module); }
  };
  std::unique_ptr<tilewright_vgpu_module, Unload> module;
  std::map<std::string, nvptx::KernelInfo> kernels;
};

/// Functions that have no code on GPUs yet. Everything else must have.
bool isKnownRefusal(const std::string &message) {
  static const std::vector<std::string> known = {"'math.sin' of f64",
                                                 "'math.cos' of f64",
                                                 "'math.tan' of f64",
                                                 "'math.powf' of f64",
                                                 "'math.atan2' of f64",
                                                 "'complex.pow' of",
                                                 "'complex.atan2' of",
                                                 "'complex.tanh' of",
                                                 "'complex.tan' of",
                                                 "'complex.log1p' of",
                                                 "'complex.expm1' of",
                                                 "'complex.exp' of complex<f64>",
                                                 "'complex.log' of complex<f64>",
                                                 "'complex.sqrt' of complex<f64>",
                                                 "'complex.rsqrt' of complex<f64>",
                                                 "'complex.sin' of complex<f64>",
                                                 "'complex.cos' of complex<f64>",
                                                 "'complex.sign' of complex<f64>",
                                                 "'complex.div' of complex<f64>",
                                                 "'complex.abs' of complex<f64>"};
  return llvm::any_of(
      known, [&](const std::string &name) { return message.find(name) != std::string::npos; });
}

/// Runs the launches of @main; anything else in it is evaluated by nobody, so says so.
std::string runLaunches(mlir::ModuleOp module, VirtualGpu &gpu, const RuntimeValues &inputs,
                        RuntimeValues &results, uint64_t seed, interpret::Context &context) {
  llvm::DenseMap<mlir::Value, Tensor> values;
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  for (auto [argument, input] : llvm::zip_equal(main.getArguments(), inputs))
    values[argument] = input.tensor();
  for (mlir::Operation &op : main.getBody().front()) {
    if (op.hasTrait<mlir::OpTrait::IsTerminator>()) {
      for (mlir::Value operand : op.getOperands())
        results.emplace_back(values[operand]);
      return "";
    }
    if (llvm::isa<stablehlo::StablehloDialect>(op.getDialect())) {
      if (auto value = op.getAttrOfType<mlir::ElementsAttr>("value")) {
        values[op.getResult(0)] = *interpret::constantTensor(value, context);
        continue;
      }
      if (op.getName().stripDialect() == "reshape") {
        auto type = llvm::cast<mlir::RankedTensorType>(op.getResult(0).getType());
        values[op.getResult(0)] =
            values[op.getOperand(0)].reshaped(*interpret::staticShapeOf(type));
        continue;
      }
    }
    auto launch = llvm::dyn_cast<exec::LaunchOp>(op);
    if (!launch)
      return "not compiled";
    std::vector<std::unique_ptr<Memory>> memory;
    std::vector<void *> buffers;
    auto add = [&](size_t bytes) {
      memory.push_back(std::make_unique<Memory>(bytes));
      buffers.push_back(memory.back()->data);
    };
    for (mlir::Value input : launch.getInputs()) {
      add(static_cast<size_t>(values[input].byteCount()));
      std::memcpy(buffers.back(), values[input].data(), memory.back()->bytes);
    }
    std::vector<Tensor> made;
    for (mlir::Value result : launch.getResults()) {
      auto type = llvm::cast<mlir::RankedTensorType>(result.getType());
      made.push_back(*Tensor::allocate(*interpret::elementTypeOf(type.getElementType()),
                                       *interpret::staticShapeOf(type), context));
      add(static_cast<size_t>(made.back().byteCount()));
    }
    if (std::string problem = gpu.run(launch.getKernel().str(), buffers, seed); !problem.empty())
      return problem;
    for (const auto &piece : memory)
      if (!piece->isIntact())
        return "written behind the end of a buffer";
    for (size_t r = 0; r < made.size(); ++r) {
      std::memcpy(made[r].mutableData(), buffers[launch.getInputs().size() + r],
                  static_cast<size_t>(made[r].byteCount()));
      values[launch.getResult(static_cast<unsigned>(r))] = made[r];
    }
  }
  return "no return";
}

} // namespace

std::string compareWithTiled(const std::string &text, uint64_t seed, bool edges, int *kernelCount) {
  static mlir::MLIRContext mlirContext(mlir::MLIRContext::Threading::DISABLED);
  std::string complaints;
  mlir::ScopedDiagnosticHandler handler(&mlirContext, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      complaints += diagnostic.str() + "\n";
  });
  mlirContext.loadDialect<mlir::func::FuncDialect, sdy::SdyDialect, stablehlo::StablehloDialect,
                          exec::ExecDialect, TileDialect, sm::SmDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &mlirContext);
  if (!module)
    return "does not parse";
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  interpret::Context context;
  std::mt19937_64 random(seed);
  RuntimeValues inputs;
  for (mlir::Type type : main.getArgumentTypes()) {
    auto tensorType = llvm::cast<mlir::RankedTensorType>(type);
    inputs.emplace_back(edges ? edgeTensor(tensorType, inputs.size(), context)
                              : randomTensor(tensorType, random, context));
  }
  auto expected = interpret::evaluate(*module, "main", inputs, context);
  if (!expected.isOk())
    return concat("before: ", std::move(expected).takeStatus().message());

  const char *wanted = std::getenv("TILEWRIGHT_TEST_CHIP");
  const std::string name = wanted ? wanted : seed % 2 ? "sm_90a" : "sm_80";
  const nvptx::Chip *chip = nvptx::chipNamed(name);
  if (!chip)
    return concat("no chip ", name);
  auto given = (*module)->getAttrOfType<mlir::DictionaryAttr>(exec::ExecDialect::targetAttr);
  nvptx::attachTarget(*module, *chip);
  // Tests that want everything in loops say how little a block may hold.
  if (mlir::Attribute elements = given ? given.get("tile_elements") : mlir::Attribute()) {
    auto target = (*module)->getAttrOfType<mlir::DictionaryAttr>(exec::ExecDialect::targetAttr);
    mlir::NamedAttrList entries(target);
    entries.set("tile_elements", elements);
    (*module)->setAttr(exec::ExecDialect::targetAttr, entries.getDictionary(&mlirContext));
  }
  mlir::PassManager tiling(&mlirContext), solving(&mlirContext);
  tiling.addPass(createTileFusionsPass());
  solving.addPass(createTilePipelinePass());
  solving.addPass(solve::createSolveLayoutsPass());
  if (mlir::failed(tiling.run(*module)))
    return concat("a pass fails: ", complaints);
  // Products of f32 lose bits on purpose: there the kernel before it has layouts is the judge,
  // which TileFusionsTest holds against the program.
  bool isTf32 = false;
  module->walk([&](DotOp dot) { isTf32 |= dot.getTf32(); });
  if (isTf32) {
    expected = interpret::evaluate(*module, "main", inputs, context);
    if (!expected.isOk())
      return concat("tiled: ", std::move(expected).takeStatus().message());
  }
  if (mlir::failed(solving.run(*module)))
    return concat("a pass fails: ", complaints);
  if (kernelCount)
    *kernelCount = static_cast<int>(llvm::range_size(module->getOps<sm::KernelOp>()));
  std::string solved;
  llvm::raw_string_ostream(solved) << *module;
  if (edges && solved.find("exec.launch") == std::string::npos)
    return "no kernel";
  auto code = nvptx::generateCode(*module, *chip);
  if (!code.isOk()) {
    const Status status = std::move(code).takeStatus();
    // Refused by name: README.md has the table.
    if (status.error() == Error::gpuScalarOp) {
      if (std::getenv("TILEWRIGHT_TEST_REFUSED"))
        llvm::errs() << "refused: " << status.message().substr(0, 120) << "\n";
      return isKnownRefusal(std::string(status.message())) ? "" : std::string(status.message());
    }
    return concat(status.message(), "\n", solved);
  }
  VirtualGpu gpu;
  if (std::string problem = VirtualGpu::load(*code, name, gpu); !problem.empty())
    return concat(problem, " on ", name, "\n", solved);
  RuntimeValues actual;
  std::string problem = runLaunches(*module, gpu, inputs, actual, seed, context);
  if (problem == "not compiled")
    return edges ? problem : "";
  if (!problem.empty())
    return concat(problem, " on ", name, "\n", solved);
  for (size_t r = 0; r < expected->size(); ++r) {
    const Tensor &a = (*expected)[r].tensor(), &b = actual[r].tensor();
    for (int64_t i = 0; i < a.elementCount(); ++i)
      if (!isClose(a.type(), a.at(i), b.at(i), edges))
        return concat("result ", r, ", element ", i, ": ", toString(a.type(), a.at(i)), " became ",
                      toString(b.type(), b.at(i)), " on ", name, "\n", solved);
  }
  return "";
}

} // namespace tilewright::tile
