// The dialect itself and the base class of its ops. Everything else includes
// this file.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLODIALECT_TD
#define TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLODIALECT_TD

include "mlir/IR/OpBase.td"

def Stablehlo_Dialect : Dialect {
  let name = "stablehlo";
  let cppNamespace = "::tilewright::stablehlo";
  let summary = "The input language: StableHLO 1.20, according to its public specification.";
  let description = [{
    Names of ops and attributes are the public ones, so that text printed by
    other producers in generic form parses here. The class of an op is its
    mnemonic in camel case followed by `Op`.
  }];
  let dependentDialects = ["::mlir::quant::QuantDialect"];
  let useDefaultTypePrinterParser = 1;
  // `type_extensions` has two spellings, which the default parser does not support.
  let useDefaultAttributePrinterParser = 0;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
  private:
    // One function per group of ops, so that no translation unit contains the
    // generated code of all ops.
    void registerAttributes();
    void registerTypes();
    void registerCreationOps();
    void registerUnaryOps();
    void registerBinaryOps();
    void registerDataMovementOps();
    void registerIndexingOps();
    void registerDynamicShapeOps();
    void registerLinearAlgebraOps();
    void registerReductionOps();
    void registerControlFlowOps();
    void registerCallOps();
    void registerCollectiveOps();

    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attr,
                        ::mlir::DialectAsmPrinter &printer) const override;
  }];
}

class Stablehlo_Op<string mnemonic, list<Trait> traits = []>
    : Op<Stablehlo_Dialect, mnemonic, traits>;

#endif // TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLODIALECT_TD
