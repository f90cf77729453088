// Converts the attributes of a VHLO operation to those of the StableHLO operation.
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

  /// The attribute, or absent if this form of the operation does not have it.
  bytecode::AttrId operator[](std::string_view name) const {
    int index = row.attributeIndex(name);
    return index < 0 ? bytecode::absent : values[static_cast<size_t>(index)];
  }

  const bytecode::OpRow &row;
  std::span<const bytecode::AttrId> values;
};

/// Whether an attribute has the default value, which StableHLO omits.
bool isLeftOut(const EntryBuilder &entries, const AttributeRule &rule,
               const Properties &properties);

/// The attribute in the form its rule requires. Reports a wrong kind as `attributeKind`, with the
/// expected kind; the caller adds the operation's name to the message.
Result<mlir::Attribute> convertAttribute(EntryBuilder &entries, const AttributeRule &rule,
                                         bytecode::AttrId id);

/// Combines the attributes marked `part` into struct attributes.
Status appendStructs(EntryBuilder &entries, std::string_view op, const Properties &properties,
                     mlir::NamedAttrList &out);

/// The failure of the two functions above: "attribute 'x' must be …".
Status wrongKind(std::string_view attribute, std::string_view expected);

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_OPERATIONATTRIBUTES_H
