#ifndef TILEWRIGHT_DIALECT_SDY_SDYDIALECT_TD
#define TILEWRIGHT_DIALECT_SDY_SDYDIALECT_TD

include "mlir/IR/DialectBase.td"

def Sdy_Dialect : Dialect {
  let name = "sdy";
  let cppNamespace = "::tilewright::sdy";
  let summary = "Shardings of tensors over meshes of devices.";
  let description = [{
    The part of Shardy's public dialect that portable artifacts carry: named
    meshes, shardings of function arguments, results and op results, and
    manual computations. The textual form and the encoding are Shardy's; the
    verifiers are ours.

    Shardings of ops of other dialects are discardable attributes: `sdy.sharding` (a
    `#sdy.sharding` on function arguments and results, a
    `#sdy.sharding_per_value` on any other op) and `sdy.sharding_rule`.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Names of the discardable attributes.
    static constexpr ::llvm::StringLiteral shardingName = "sdy.sharding";
    static constexpr ::llvm::StringLiteral shardingRuleName = "sdy.sharding_rule";

  private:
    void registerAttributes();
    void registerOps();
  }];
}

#endif // TILEWRIGHT_DIALECT_SDY_SDYDIALECT_TD
