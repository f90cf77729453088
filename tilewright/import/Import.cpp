#include "tilewright/import/Import.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/import/EntryBuilder.h"
#include "tilewright/import/ModuleBuilder.h"
#include "tilewright/import/VerifyProgram.h"
#include "tilewright/import/bytecode/Reader.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/WorkLimit.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/IR/Quant.h"

namespace tilewright {

void loadImportDialects(mlir::MLIRContext &context) {
  context.loadDialect<mlir::func::FuncDialect, mlir::quant::QuantDialect,
                      stablehlo::StablehloDialect, sdy::SdyDialect>();
}

static Result<mlir::OwningOpRef<mlir::ModuleOp>>
build(mlir::MLIRContext &context, const ArtifactFile &file, const ImportOptions &options) {
  TILEWRIGHT_ASSIGN(bytecode::Module tables, bytecode::read(file.bytes(), options));
  EntryBuilder entries(context, tables, file);
  return ModuleBuilder(entries, options).build();
}

Result<mlir::OwningOpRef<mlir::ModuleOp>>
importArtifact(mlir::MLIRContext &context, ArtifactFile file, const ImportOptions &options) {
  loadImportDialects(context);
  std::string activity = concat("reading ", file.name());
  Result<mlir::OwningOpRef<mlir::ModuleOp>> module = build(context, file, options);
  if (!module.isOk())
    return std::move(module).takeStatus().during(activity);
  if (Status status = verifyProgram(**module); !status.isOk())
    return std::move(status).during(activity);
  // The verifier cannot be interrupted, so an exceeded limit is noticed only now.
  if (WorkLimit::mustStop())
    return WorkLimit::stopAt(concat("the verification of ", file.name()));
  return module;
}

} // namespace tilewright
