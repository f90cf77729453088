// The attributes of a VHLO operation as those of the StableHLO operation.
#ifndef TILEWRIGHT_IMPORT_OPERATIONATTRIBUTES_H
#define TILEWRIGHT_IMPORT_OPERATIONATTRIBUTES_H

#include "tilewright/import/AttributeRules.h"
#include "tilewright/import/EntryBuilder.h"

#include "mlir/IR/OperationSupport.h"

namespace tilewright {

/// The properties of one operation, by name.
class Properties {
public:
  Properties(const bytecode::Module &tables, const bytecode::Operation &op)
      : row(tables.rowOf(op)), values(tables.propertiesOf(op)) {}

  /// The attribute, or absent where this form of the operation has none.
  bytecode::AttrId operator[](std::string_view name) const {
    int index = row.attributeIndex(name);
    return index < 0 ? bytecode::absent : values[static_cast<size_t>(index)];
  }

  const bytecode::OpRow &row;
  std::span<const bytecode::AttrId> values;
};

/// Whether an attribute has the value that StableHLO leaves out.
bool isLeftOut(const EntryBuilder &entries, const AttributeRule &rule,
               const Properties &properties);

/// The attribute in the form its rule asks for. A wrong kind is reported as
/// `attributeKind`, with both kinds; who calls says which operation.
Result<mlir::Attribute> convertAttribute(EntryBuilder &entries, const AttributeRule &rule,
                                         bytecode::AttrId id);

/// Gathers the attributes marked `part` into struct attributes.
Status appendStructs(EntryBuilder &entries, std::string_view op, const Properties &properties,
                     mlir::NamedAttrList &out);

/// The failure of both: "attribute 'x' must be …".
Status wrongKind(std::string_view attribute, std::string_view expected);

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_OPERATIONATTRIBUTES_H
