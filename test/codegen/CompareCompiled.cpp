// The tests of transform/tile once more, with the kernels compiled and run instead of evaluated:
// this file takes the place of TestCompare.cpp and uses its inputs and its tolerances.
#define compareWithTiled compareWithEvaluated
#include "tilewright/transform/tile/TestCompare.cpp"
#undef compareWithTiled

#include "tilewright/target/cpu/TestKernels.h"

#include "llvm/ADT/ScopeExit.h"

#include <cstdlib>
#include <cstring>

namespace tilewright::tile {

/// Memory as the runtime gives it: aligned, with a pattern behind the end that must stay.
class Memory {
public:
  explicit Memory(size_t bytes) : bytes(bytes), data(std::aligned_alloc(64, size())) {
    std::memset(data, 0xA5, size());
  }
  Memory(const Memory &) = delete;
  ~Memory() { std::free(data); }
  bool isIntact() const {
    const auto *at = static_cast<const unsigned char *>(data);
    return std::all_of(at + bytes, at + size(), [](unsigned char byte) { return byte == 0xA5; });
  }
  size_t size() const { return bytes / 64 * 64 + 128; }
  const size_t bytes;
  void *const data;
};

/// Runs the launches of @main; anything else in it is evaluated by nobody, so says so.
static std::string runCompiled(mlir::ModuleOp module, cpu::LoadedKernels &kernels,
                               const RuntimeValues &inputs, RuntimeValues &results,
                               interpret::Context &context) {
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
    // In place where the kernel says that it may be.
    if (auto aliases = launch.getAliases())
      for (size_t i = 0; i + 1 < aliases->size(); i += 2)
        buffers[launch.getInputs().size() + static_cast<size_t>((*aliases)[i])] =
            buffers[static_cast<size_t>((*aliases)[i + 1])];
    kernels.run(launch.getKernel().str(), buffers);
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

std::string compareWithTiled(const std::string &text, uint64_t seed, bool edges, int *kernelCount) {
  static mlir::MLIRContext mlirContext(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler quiet(&mlirContext, [](mlir::Diagnostic &) {});
  mlirContext.loadDialect<mlir::func::FuncDialect, sdy::SdyDialect, stablehlo::StablehloDialect,
                          exec::ExecDialect, TileDialect>();
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
  const std::vector<cpu::Chip> &all = cpu::chips();
  const cpu::Chip *chip = wanted ? cpu::chipNamed(wanted) : &cpu::hostChip();
  // Without a wish, take turns among the chips that this machine can be.
  if (!wanted && seed % 4 == 3)
    chip = &all[seed / 4 % static_cast<size_t>(&cpu::hostChip() - all.data() + 1)];
  cpu::attachTarget(*module, *chip, 2);
  mlir::PassManager passes(&mlirContext);
  passes.addPass(createTileFusionsPass());
  if (mlir::failed(passes.run(*module)))
    return "the pass fails";
  if (kernelCount)
    *kernelCount = static_cast<int>(llvm::range_size(module->getOps<KernelOp>()));
  std::string tiled;
  llvm::raw_string_ostream(tiled) << *module;
  if (edges && tiled.find("exec.launch") == std::string::npos)
    return "no kernel";
  auto code = cpu::generateObject(*module, *chip);
  if (!code.isOk())
    return concat(std::move(code).takeStatus().message(), "\n", tiled);
  cpu::LoadedKernels kernels = cpu::LoadedKernels::load(*std::move(code));
  RuntimeValues actual;
  std::string problem = runCompiled(*module, kernels, inputs, actual, context);
  if (problem == "not compiled")
    return edges ? problem : "";
  if (!problem.empty())
    return concat(problem, " on ", chip->name, "\n", tiled);
  for (size_t r = 0; r < expected->size(); ++r) {
    const Tensor &a = (*expected)[r].tensor(), &b = actual[r].tensor();
    for (int64_t i = 0; i < a.elementCount(); ++i)
      if (!isClose(a.type(), a.at(i), b.at(i), edges))
        return concat("result ", r, ", element ", i, ": ", toString(a.type(), a.at(i)), " became ",
                      toString(b.type(), b.at(i)), " on ", chip->name, "\n", tiled);
  }
  return "";
}

} // namespace tilewright::tile
