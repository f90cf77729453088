#include "tools/tilewright/CompileFile.h"

#include "tilewright/artifact/Format.h"
#include "tilewright/artifact/Reader.h"
#include "tilewright/interpret/ranks/RankGroups.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Progress.h"
#include "tools/tilewright/Command.h"

#include "mlir/IR/MLIRContext.h"

#include <atomic>
#include <iostream>

namespace tilewright::tools {

static constexpr llvm::StringLiteral partitionsAttr = "mhlo.num_partitions",
                                     replicasAttr = "mhlo.num_replicas";

void printWarning(const Status &warning) {
  std::cerr << "tilewright: warning: " << warning.message() << "\n";
}

Result<artifact::Executable> compileFile(const std::string &path, const Options &options,
                                         driver::CompileReport &report, bool wantsRemarks,
                                         std::vector<std::pair<std::string, int64_t>> mesh) {
  mlir::DialectRegistry registry;
  driver::registerCompilerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();

  driver::CompileRequest request;
  request.options = options;
  request.report = &report;
  request.wantsRemarks = wantsRemarks;
  request.warn = printWarning;
  std::atomic<const char *> stage = "reading";
  request.progress = [&](const char *name, double) { stage = name; };
  Progress progress("compiling " + path, [&] { return std::string(stage.load()); });
  TILEWRIGHT_ASSIGN(auto module, loadProgram(context, path, options));
  int64_t ranks = 1;
  for (const auto &[name, size] : mesh)
    ranks *= size;
  if (!(*module)->hasAttr(partitionsAttr) && !(*module)->hasAttr(replicasAttr) && ranks > 1)
    (*module)->setAttr(partitionsAttr,
                       mlir::IntegerAttr::get(mlir::IntegerType::get(&context, 32), ranks));
  const interpret::RankGrid grid = interpret::rankGridOf(*module);
  request.replicas = grid.replicas;
  request.partitions = grid.partitions;
  request.mesh = std::move(mesh);
  request.deviceMemory = options.runtime.memoryLimit;
  Result<artifact::Executable> executable = Status(Code::internal, "not compiled");
  driver::runOnLargeStack([&] { executable = driver::compile(*module, request); });
  return executable;
}

Result<std::optional<artifact::Executable>> readIfExecutable(const std::string &path,
                                                             const Options &options) {
  TILEWRIGHT_ASSIGN(ArtifactFile file, ArtifactFile::open(path, options.import));
  const std::span<const std::byte> bytes = file.bytes();
  const std::string_view start(reinterpret_cast<const char *>(bytes.data()),
                               std::min(bytes.size(), artifact::magic.size()));
  if (start != artifact::magic)
    return std::optional<artifact::Executable>();
  TILEWRIGHT_ASSIGN(artifact::Executable executable, artifact::readExecutable(bytes));
  return std::optional(std::move(executable));
}

std::string counted(int64_t count, std::string_view noun) {
  if (count == 1)
    return concat("1 ", noun);
  if (noun.ends_with("y"))
    return concat(count, " ", noun.substr(0, noun.size() - 1), "ies");
  return concat(count, " ", noun, noun.ends_with("ch") ? "es" : "s");
}

std::string humanBytes(int64_t bytes) {
  if (bytes < 10'240)
    return concat(bytes, " B");
  if (bytes < (int64_t(10) << 20))
    return concat(bytes >> 10, " KiB");
  return concat(bytes >> 20, " MiB");
}

Result<artifact::Executable> readOrCompile(const std::string &path, const Options &options) {
  TILEWRIGHT_ASSIGN(std::optional<artifact::Executable> ready, readIfExecutable(path, options));
  if (ready)
    return *std::move(ready);
  driver::CompileReport report;
  return compileFile(path, options, report);
}

} // namespace tilewright::tools
