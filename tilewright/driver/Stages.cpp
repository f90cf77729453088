#include "tilewright/driver/Stages.h"

#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace mlir;

namespace tilewright::driver {

Stages::Stages(ModuleOp module, const CompileRequest &request, int count)
    : module(module), request(request), count(count),
      handler(module.getContext(), [this](Diagnostic &diagnostic) {
        std::string place = interpret::placeOf(diagnostic.getLocation());
        std::string text = diagnostic.str();
        for (Diagnostic &note : diagnostic.getNotes())
          text += concat("\n  note: ", note.str());
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          errors.push_back(place.empty() ? text : concat(text, "\n  at ", place));
        return success();
      }) {}

Status Stages::run(const char *stage, llvm::function_ref<void(OpPassManager &)> build) {
  return run(stage, [&]() -> Status {
    PassManager passes(module.getContext(), ModuleOp::getOperationName());
    // Assertions are off in the MLIR we link, so the verifier is what finds a broken pass.
    passes.enableVerifier(request.options.compile.verify);
    build(passes);
    if (succeeded(passes.run(module)))
      return {};
    return Status(Error::compileStage, "");
  });
}

Status Stages::run(const char *stage, llvm::function_ref<Status()> work) {
  if (request.progress)
    request.progress(stage, static_cast<double>(done) / count);
  ++done;
  auto begin = std::chrono::steady_clock::now();
  Status status = work();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return finish(stage, seconds, std::move(status));
}

Status Stages::finish(const char *stage, double seconds, Status status) {
  if (!status.isOk()) {
    if (status.error() != Error::compileStage)
      return std::move(status).during(concat("compiling, in stage ", stage));
    std::string message = concat("stage '", stage, "' could not go on: ");
    for (const std::string &error : errors)
      message += error + "\n";
    if (errors.empty())
      message += "it gave no reason\n";
    message += lastDump.empty()
                   ? "  replay: compile again with --compile.dump-dir=DIR to keep its input"
                   : concat("  replay: its input is ", lastDump);
    return Status(Error::compileStage, std::move(message));
  }
  if (request.report) {
    StageReport report{stage, seconds, 0};
    module.walk([&](Operation *) { ++report.ops; });
    request.report->stages.push_back(std::move(report));
  }
  return dump(stage);
}

Status Stages::dump(const char *stage) {
  const std::string &folder = request.options.compile.dumpDir;
  if (folder.empty())
    return {};
  std::error_code failure = llvm::sys::fs::create_directories(folder);
  std::string path = llvm::formatv("{0}/{1,0+2}-{2}.mlir", folder, done, stage).str();
  if (!failure) {
    llvm::raw_fd_ostream file(path, failure);
    if (!failure) {
      OpPrintingFlags flags;
      flags.elideLargeElementsAttrs(64).enableDebugInfo(true, /*prettyForm=*/false);
      module->print(file, flags);
      file.close();
      failure = file.error();
      // A full disk must not end the process when the stream is destroyed.
      file.clear_error();
    }
  }
  if (failure)
    return Status(Error::fileUnwritable,
                  concat("cannot write the dump '", path, "': ", failure.message(),
                         "; make room or choose another --compile.dump-dir"));
  lastDump = path;
  return {};
}

} // namespace tilewright::driver
