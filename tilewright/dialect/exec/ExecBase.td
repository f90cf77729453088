// The exec dialect and the bases of its attributes and ops.
#ifndef TILEWRIGHT_DIALECT_EXEC_EXECBASE_TD
#define TILEWRIGHT_DIALECT_EXEC_EXECBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::tilewright::exec";
  let summary = "The host's plan: fusions, kernel launches, copies, collectives, and the memory that they use.";
  let description = [{
    Values remain tensors; their memory is an attribute (`#exec.slice`) that
    `transform/schedule` sets on the op that defines them. Host control flow
    remains `stablehlo.while`, `if` and `case`. The driver translates a
    scheduled function op by op into `artifact::Executable`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  // Attributes that stages set on functions and ops of other dialects, see README.md.
  let extraClassDeclaration = [{
    /// On a function: the array of #exec.allocation that slices refer to.
    static constexpr ::llvm::StringLiteral allocationsAttr = "exec.allocations";
    /// On an op: #exec.slice of each result.
    static constexpr ::llvm::StringLiteral slicesAttr = "exec.slices";
    /// On a function or an op with regions: for each region, #exec.slice of each block argument.
    static constexpr ::llvm::StringLiteral argumentSlicesAttr = "exec.argument_slices";
    /// On the module: #exec.target.
    static constexpr ::llvm::StringLiteral targetAttr = "exec.target";

  private:
    /// Registers the ops of LibraryOps.td.
    void addLibraryOps();
  public:
  }];
}

class Exec_Attr<string name, string mnemonicName> : AttrDef<Exec_Dialect, name> {
  let mnemonic = mnemonicName;
  let assemblyFormat = "`<` struct(params) `>`";
}

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

#endif // TILEWRIGHT_DIALECT_EXEC_EXECBASE_TD
