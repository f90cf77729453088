#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/import/Import.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"
#include "tilewright/support/text/Number.h"
#include "tools/tilewright/Command.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

namespace tilewright::tools {
namespace {

bool isArtifact(std::span<const std::byte> bytes) {
  constexpr std::string_view magic = "ML\xEFR";
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

/// Parses text in our dialects; a failure contains the first diagnostic.
Result<mlir::OwningOpRef<mlir::ModuleOp>> parseText(mlir::MLIRContext &context,
                                                    const ArtifactFile &file) {
  context.loadDialect<exec::ExecDialect>(); // dumps of the first stages name their target
  std::string reason;
  mlir::ScopedDiagnosticHandler collect(&context, [&](mlir::Diagnostic &diagnostic) {
    if (reason.empty()) {
      llvm::raw_string_ostream out(reason);
      out << diagnostic.getLocation() << ": " << diagnostic.str();
    }
    return mlir::success();
  });
  // MLIR's lexer reads a zero after the last character, which the bytes of a file do not have.
  const std::string text(reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size());
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, file.name());
  if (!module)
    return Status(Error::textMalformed,
                  concat(file.name(), " is neither an artifact nor valid text: ", reason,
                         "; pass MLIR text or a portable artifact, such as jax.export's "
                         "mlir_module_serialized"));
  return module;
}

} // namespace

Result<mlir::OwningOpRef<mlir::ModuleOp>>
loadProgram(mlir::MLIRContext &context, const std::string &path, const Options &options) {
  trace::Span span("compile", "import");
  loadImportDialects(context);
  TILEWRIGHT_ASSIGN(ArtifactFile file, ArtifactFile::open(path, options.import));
  if (isArtifact(file.bytes()))
    return importArtifact(context, file, options.import);
  return parseText(context, file);
}

Result<std::string> onlyFile(const CommandLine &line, std::string_view command) {
  if (line.files().size() != 1)
    return Status(Error::commandUsage,
                  concat(command, " takes one argument, got ",
                         line.files().empty()
                             ? std::string("none")
                             : concat(line.files().size(), ": ", listed(line.files())),
                         "; see tilewright ", command, " --help"));
  return line.files().front();
}

Result<int64_t> countFlag(const CommandLine &line, std::string_view flag) {
  std::string text = line.last(flag, "1");
  const auto count = numberIn<int64_t>(text).value_or(0);
  if (count < 1 || count > 4096)
    return Status(Error::flagValue,
                  concat("--", flag, " takes a number from 1 to 4096, got '", text, "'"));
  return count;
}

} // namespace tilewright::tools
