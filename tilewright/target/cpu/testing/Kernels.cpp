#include "tilewright/target/cpu/testing/Kernels.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/numerics/scalar/Operations.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/TargetSelect.h"

#include <cstdlib>
#include <cstring>
#include <deque>

using namespace llvm;

namespace tilewright::cpu {

namespace {

/// The record that the runtime resolves `tw_scalar_record.<op>.<operand>.<result>` to.
struct ScalarRecord {
  numerics::Operation operation;
  numerics::ElementType operand, result;
};

void scalarCall(const ScalarRecord *record, const std::byte *a, const std::byte *b,
                const std::byte *c, std::byte *out) {
  using numerics::loadScalar;
  numerics::storeScalar(record->result, out,
                        record->operation(loadScalar(record->operand, a),
                                          loadScalar(record->operand, b),
                                          loadScalar(record->operand, c)));
}

ScalarRecord recordNamed(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  auto typeNamed = [](StringRef text) {
#define TILEWRIGHT_ELEMENT_TYPE(name, spelling, kind, bits)                                        \
  if (text == #name)                                                                               \
    return numerics::ElementType::name;
#include "tilewright/numerics/ElementTypes.def"
    report_fatal_error("no such element type");
  };
  auto opNamed = [](StringRef text) {
#define TILEWRIGHT_SCALAR_OP(name, arity)                                                          \
  if (text == #name)                                                                               \
    return numerics::ScalarOp::name;
#include "tilewright/numerics/scalar/Operations.def"
    report_fatal_error("no such scalar operation");
  };
  ScalarRecord record{nullptr, typeNamed(parts[2]), typeNamed(parts[3])};
  record.operation = numerics::operationFor(opNamed(parts[1]), record.operand, record.result);
  if (!record.operation)
    report_fatal_error("scalar operation is not defined for its types");
  return record;
}

} // namespace

struct LoadedKernels::State {
  std::unique_ptr<orc::LLJIT> jit;
  std::deque<ScalarRecord> records;
};

LoadedKernels::LoadedKernels() : state(std::make_unique<State>()) {}
LoadedKernels::LoadedKernels(LoadedKernels &&) = default;
LoadedKernels::~LoadedKernels() = default;

Result<ObjectCode> compileText(std::string_view text, const Chip &chip,
                               const CodegenOptions &options) {
  mlir::DialectRegistry registry;
  registry.insert<tile::TileDialect, exec::ExecDialect, mlir::affine::AffineDialect,
                  mlir::arith::ArithDialect, mlir::complex::ComplexDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::tensor::TensorDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(StringRef(text.data(), text.size()), &context);
  if (!module)
    report_fatal_error("the module of a test cannot be parsed");
  return generateObject(*module, chip, options);
}

LoadedKernels LoadedKernels::compile(std::string_view text, const Chip &chip,
                                     const CodegenOptions &options) {
  Result<ObjectCode> code = compileText(text, chip, options);
  if (!code.isOk())
    report_fatal_error(Twine(std::move(code).takeStatus().toString()));
  return load(*std::move(code));
}

LoadedKernels LoadedKernels::load(ObjectCode code) {
  LoadedKernels loaded;
  loaded.object = std::move(code);
  loaded.state->jit = cantFail(orc::LLJITBuilder().create());
  orc::LLJIT &jit = *loaded.state->jit;
  orc::JITDylib &library = jit.getMainJITDylib();
  orc::SymbolMap symbols;
  auto define = [&](StringRef name, const void *address) {
    symbols[jit.mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(address),
                                          JITSymbolFlags::Exported};
  };
  std::vector<std::unique_ptr<MemoryBuffer>> buffers;
  for (const std::vector<std::byte> &object : loaded.object.objects) {
    StringRef bytes(reinterpret_cast<const char *>(object.data()), object.size());
    buffers.push_back(MemoryBuffer::getMemBufferCopy(bytes, "kernels.o"));
    auto file = cantFail(object::ObjectFile::createObjectFile(*buffers.back()));
    for (const object::SymbolRef &symbol : file->symbols()) {
      StringRef name = cantFail(symbol.getName());
      if (name.starts_with("tw_scalar_record.")) {
        loaded.state->records.push_back(recordNamed(name));
        define(name, &loaded.state->records.back());
      } else if (name == "tw_scalar_call") {
        define(name, reinterpret_cast<const void *>(&scalarCall));
      }
    }
  }
  library.addGenerator(cantFail(orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0')));
  if (!symbols.empty())
    cantFail(library.define(orc::absoluteSymbols(std::move(symbols))));
  for (std::unique_ptr<MemoryBuffer> &buffer : buffers)
    cantFail(jit.addObjectFile(std::move(buffer)));
  return loaded;
}

void *LoadedKernels::symbol(std::string_view name) {
  return cantFail(state->jit->lookup(StringRef(name.data(), name.size()))).toPtr<void *>();
}

const KernelInfo &LoadedKernels::code(std::string_view kernel) const {
  for (const KernelInfo &code : object.kernels)
    if (code.symbol == kernel)
      return code;
  report_fatal_error("no such kernel");
}

void LoadedKernels::run(std::string_view kernel, std::vector<void *> buffers) {
  const KernelInfo &row = code(kernel);
  auto *function =
      reinterpret_cast<void (*)(void *const *, int64_t, int64_t, void *)>(symbol(row.symbol));
  void *scratch = std::aligned_alloc(64, size_t(row.scratchBytes + 63) / 64 * 64 + 64);
  function(buffers.data(), 0, row.grid, scratch);
  std::free(scratch);
}

void LoadedKernels::runBody(std::string_view body, std::vector<const void *> args,
                            std::vector<void *> results) {
  auto *function = reinterpret_cast<void (*)(const void *const *, void *const *)>(symbol(body));
  function(args.data(), results.data());
}

std::vector<std::string> runnableChips() {
  std::vector<std::string> names;
  for (const Chip &chip : chips()) {
    names.emplace_back(chip.name);
    if (chip.name == hostChip().name)
      break;
  }
  return names;
}

} // namespace tilewright::cpu
