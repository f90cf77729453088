#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"
#include "tilewright/support/WorkLimit.h"
#include "tilewright/target/cpu/Codegen.h"
#include "tilewright/target/cpu/emit/AttentionEmitter.h"
#include "tilewright/target/cpu/emit/BodyEmitter.h"
#include "tilewright/target/cpu/emit/EpilogueEmitter.h"
#include "tilewright/target/cpu/emit/KernelEmitter.h"
#include "tilewright/target/cpu/emit/StreamedOutputs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <algorithm>
#include <memory>
#include <thread>

using namespace llvm;

namespace tilewright::cpu {

using OutputNumbers = SmallDenseSet<unsigned>;

/// The text of a kernel without its name; kernels with equal text are compiled once.
static std::string fingerprintOf(tile::KernelOp kernel, const OutputNumbers &streamed) {
  std::string text;
  raw_string_ostream stream(text);
  DenseMap<mlir::Value, unsigned> numbers;
  auto write = [&](const void *pointer) {
    stream.write(reinterpret_cast<const char *>(&pointer), sizeof(pointer));
  };
  write(kernel.getGridAttr().getAsOpaquePointer());
  write(kernel.getNumInputsAttr().getAsOpaquePointer());
  kernel.getBody().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    write(op->getName().getAsOpaquePointer());
    write(op->getAttrDictionary().getAsOpaquePointer());
    for (mlir::Value operand : op->getOperands())
      write(reinterpret_cast<void *>(uintptr_t(numbers.lookup(operand))));
    for (mlir::Type type : op->getResultTypes())
      write(type.getAsOpaquePointer());
    for (mlir::Value result : op->getResults())
      numbers.try_emplace(result, numbers.size() + 1);
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &block : region)
        for (mlir::BlockArgument argument : block.getArguments()) {
          write(argument.getType().getAsOpaquePointer());
          numbers.try_emplace(argument, numbers.size() + 1);
        }
  });
  for (mlir::BlockArgument argument : kernel.getBlock().getArguments())
    write(argument.getType().getAsOpaquePointer());
  for (unsigned number = 0; number < kernel.getOutputs().size(); ++number)
    stream << (streamed.contains(number) ? 's' : '-');
  return text;
}

static std::string textOf(const Module &module) {
  std::string text;
  raw_string_ostream(text) << module;
  return text;
}

namespace {

/// The minimum number of kernels that is worth a thread.
constexpr size_t leastPerThread = 6;

/// The kernels that one thread compiles: an LLVM module and its object code. Owns everything that
/// LLVM uses, so that an abandoned compile thread can still finish safely.
struct KernelBatch {
  explicit KernelBatch(const Chip &chip)
      : chip(chip), code("kernels", context), builder(code, chip.machine()) {}

  Status create() {
    TILEWRIGHT_ASSIGN(machine, createTargetMachine(chip));
    code.setTargetTriple(machine->getTargetTriple());
    code.setDataLayout(machine->createDataLayout());
    code.setPICLevel(PICLevel::BigPIC);
    return {};
  }

  void compile(const std::string &dumpLevel) {
    if (dumpLevel == "llvm")
      dumped.push_back(textOf(code));
#ifndef NDEBUG
    std::string problem;
    raw_string_ostream stream(problem);
    if (verifyModule(code, &stream)) {
      status = Status(Error::cpuCodegen, concat("the generated LLVM IR is invalid: ", problem));
      return;
    }
#endif
    {
      trace::Span span("compile", "optimize kernels");
      optimize(code, *machine);
    }
    if (dumpLevel == "llvm-optimized")
      dumped.push_back(textOf(code));
    if (dumpLevel == "asm")
      dumped.push_back(emitAssembly(*CloneModule(code), *machine));
    trace::Span span("compile", "emit object code");
    auto made = emitObject(code, *machine);
    if (made.isOk())
      object = *std::move(made);
    else
      status = std::move(made).takeStatus();
  }

  const Chip &chip;
  std::unique_ptr<TargetMachine> machine;
  LLVMContext context;
  Module code;
  lanes::LaneBuilder builder;
  std::vector<std::byte> object;
  std::vector<std::string> dumped;
  Status status;
};

using KernelBatches = std::vector<std::shared_ptr<KernelBatch>>;

/// Compiles every batch with LLVM: the first on the calling thread, each other batch on its own
/// thread.
void compileAll(const KernelBatches &batches, const std::string &dumpLevel) {
  std::vector<std::thread> threads;
  for (size_t i = 1; i < batches.size(); ++i)
    threads.emplace_back([&, i, limit = WorkLimit::share()] {
      WorkLimit::Scope scope(limit);
      trace::nameThread(concat("code ", i));
      batches[i]->compile(dumpLevel);
    });
  batches[0]->compile(dumpLevel);
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace

Result<ObjectCode> generateObject(mlir::ModuleOp module, const Chip &chip,
                                  const CodegenOptions &options) {
  ObjectCode result;
  SmallVector<tile::KernelOp> kernels(module.getOps<tile::KernelOp>());
  SmallVector<mlir::func::FuncOp> bodies;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (isBody(function))
      bodies.push_back(function);
  if (kernels.empty() && bodies.empty())
    return result;

  // Build the modules sequentially, because MLIR's context may be single-threaded; then compile
  // each of them with LLVM on its own thread.
  size_t count = std::clamp<size_t>((kernels.size() + bodies.size()) / leastPerThread, 1,
                                    std::max(1u, options.threads));
  KernelBatches batches;
  for (size_t i = 0; i < count; ++i) {
    batches.push_back(std::make_shared<KernelBatch>(chip));
    TILEWRIGHT_TRY(batches.back()->create());
  }
  StringMap<std::pair<size_t, KernelBatch *>>
      known; // fingerprint to the kernel whose code it shares
  size_t next = 0;
  const StringMap<OutputNumbers> allStreamed = streamedOutputs(module);
  for (tile::KernelOp kernel : kernels) {
    if (WorkLimit::mustStop())
      return WorkLimit::stopAt(concat("kernel ", kernel.getSymName().str()));
    KernelInfo row;
    row.symbol = kernel.getSymName().str();
    row.grid = kernel.getPointCount();
    KernelBatch *batch = batches[next].get();
    const OutputNumbers streamed = allStreamed.lookup(row.symbol);
    auto [found, isNew] =
        known.try_emplace(fingerprintOf(kernel, streamed), std::pair(result.kernels.size(), batch));
    if (isNew) {
      next = (next + 1) % batches.size();
      trace::Span span("compile", row.symbol);
      KernelEmitter emitter(batch->builder, kernel);
      for (unsigned number : streamed)
        emitter.streamed.insert(kernel.getOutputs()[number]);
      emitter.emit(row.symbol);
      row.scratchBytes = emitter.scratchBytes;
      row.itemCost = emitter.itemCost;
    } else {
      const KernelInfo &same = result.kernels[found->second.first];
      GlobalAlias::create(row.symbol, found->second.second->code.getFunction(same.symbol));
      row.scratchBytes = same.scratchBytes;
      row.itemCost = same.itemCost;
    }
    TILEWRIGHT_TRY(
        std::move(batch->builder.failure).during(concat("compiling kernel ", row.symbol)));
    result.kernels.push_back(row);
  }
  for (mlir::func::FuncOp body : bodies) {
    KernelBatch &batch = *batches[next];
    next = (next + 1) % batches.size();
    if (isScore(body))
      emitScore(batch.builder, body);
    else if (isEpilogue(body))
      emitEpilogue(batch.builder, body);
    else
      emitBody(batch.builder, body);
    TILEWRIGHT_TRY(std::move(batch.builder.failure)
                       .during(concat("compiling body ", body.getSymName().str())));
    result.bodies.push_back(body.getSymName().str());
  }

  // Equal kernels share code, so some batches may have none.
  std::erase_if(batches, [](const auto &batch) { return batch->code.empty(); });
  if (!finishesInTime([batches, dumpLevel = std::string(options.dumpLevel)] {
        compileAll(batches, dumpLevel);
      }))
    return WorkLimit::stopAt("the code of kernels");
  for (const std::shared_ptr<KernelBatch> &batch : batches) {
    for (const std::string &text : batch->dumped)
      options.dump(text);
    TILEWRIGHT_TRY(std::move(batch->status));
    result.objects.push_back(std::move(batch->object));
  }
  return result;
}

} // namespace tilewright::cpu
