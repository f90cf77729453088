#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"
#include "tilewright/target/cpu/Codegen.h"
#include "tilewright/target/cpu/ObjectMerge.h"
#include "tilewright/target/cpu/emit/BodyEmitter.h"
#include "tilewright/target/cpu/emit/EpilogueEmitter.h"
#include "tilewright/target/cpu/emit/KernelEmitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <algorithm>
#include <thread>

using namespace llvm;

namespace tilewright::cpu {

/// Everything of a kernel but its name: kernels with equal text are one.
static std::string fingerprintOf(tile::KernelOp kernel) {
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
  return text;
}

static std::string textOf(const Module &module) {
  std::string text;
  raw_string_ostream(text) << module;
  return text;
}

namespace {

/// Fewer kernels than this are not worth a thread.
constexpr size_t leastPerThread = 6;

/// A share of the kernels: one LLVM module, and what becomes of it.
struct Part {
  explicit Part(const Chip &chip)
      : chip(chip), code("kernels", context), builder(code, chip.machine()) {}

  Status create() {
    TILEWRIGHT_ASSIGN(machine, createTargetMachine(chip));
    code.setTargetTriple(machine->getTargetTriple());
    code.setDataLayout(machine->createDataLayout());
    code.setPICLevel(PICLevel::BigPIC);
    return {};
  }

  void compile(const CodegenOptions &options) {
    if (options.dumpLevel == "llvm")
      dumped.push_back(textOf(code));
#ifndef NDEBUG
    std::string problem;
    raw_string_ostream stream(problem);
    if (verifyModule(code, &stream)) {
      status = Status(Error::cpuCodegen, concat("the code is malformed: ", problem));
      return;
    }
#endif
    {
      trace::Span span("compile", "optimize kernels");
      optimize(code, *machine);
    }
    if (options.dumpLevel == "llvm-optimized")
      dumped.push_back(textOf(code));
    if (options.dumpLevel == "asm")
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

  // Modules are made here, one after another, because MLIR's context need not know threads; each
  // then goes through LLVM on a thread of its own.
  size_t count = std::clamp<size_t>((kernels.size() + bodies.size()) / leastPerThread, 1,
                                    std::max(1u, options.threads));
  std::vector<std::unique_ptr<Part>> parts;
  for (size_t i = 0; i < count; ++i) {
    parts.push_back(std::make_unique<Part>(chip));
    TILEWRIGHT_TRY(parts.back()->create());
  }
  StringMap<std::pair<size_t, Part *>> known; // fingerprint to the kernel that has the code
  size_t next = 0;
  for (tile::KernelOp kernel : kernels) {
    KernelInfo row;
    row.symbol = kernel.getSymName().str();
    row.grid = kernel.getPointCount();
    Part *part = parts[next].get();
    auto [found, isNew] =
        known.try_emplace(fingerprintOf(kernel), std::pair(result.kernels.size(), part));
    if (isNew) {
      next = (next + 1) % parts.size();
      trace::Span span("compile", row.symbol);
      KernelEmitter emitter(part->builder, kernel);
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
        std::move(part->builder.failure).during(concat("compiling kernel ", row.symbol)));
    result.kernels.push_back(row);
  }
  for (mlir::func::FuncOp body : bodies) {
    Part &part = *parts[next];
    next = (next + 1) % parts.size();
    if (isEpilogue(body))
      emitEpilogue(part.builder, body);
    else
      emitBody(part.builder, body);
    TILEWRIGHT_TRY(
        std::move(part.builder.failure).during(concat("compiling body ", body.getSymName().str())));
    result.bodies.push_back(body.getSymName().str());
  }

  std::vector<std::thread> threads;
  for (size_t i = 1; i < parts.size(); ++i)
    threads.emplace_back([&, i] {
      trace::nameThread(concat("code ", i));
      parts[i]->compile(options);
    });
  parts[0]->compile(options);
  for (std::thread &thread : threads)
    thread.join();
  std::vector<std::vector<std::byte>> objects;
  for (std::unique_ptr<Part> &part : parts) {
    for (const std::string &text : part->dumped)
      options.dump(text);
    TILEWRIGHT_TRY(std::move(part->status));
    objects.push_back(std::move(part->object));
  }
  TILEWRIGHT_ASSIGN(result.bytes, mergeObjects(objects));
  return result;
}

} // namespace tilewright::cpu
