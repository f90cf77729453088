#include "tilewright/dialect/tile/TileDialect.h"

#include "tilewright/dialect/tile/SortOps.h"
#include "tilewright/dialect/tile/WindowOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

#include "tilewright/dialect/tile/TileDialect.cpp.inc"

/// Prints the map in place, never as an alias: the parser would read `%x #map` as a result of `%x`.
static void printInlineMap(OpAsmPrinter &printer, Operation *, AffineMapAttr map) {
  printer.getStream() << "affine_map<" << map.getValue() << ">";
}
static ParseResult parseInlineMap(OpAsmParser &parser, AffineMapAttr &map) {
  return parser.parseAttribute(map);
}

/// A keyword that is stored as a string.
static void printKeyword(OpAsmPrinter &printer, Operation *, StringAttr word) {
  printer << word.getValue();
}
static ParseResult parseKeyword(OpAsmParser &parser, StringAttr &word) {
  std::string text;
  if (parser.parseKeywordOrString(&text))
    return failure();
  word = parser.getBuilder().getStringAttr(text);
  return success();
}

#define GET_OP_CLASSES
#include "tilewright/dialect/tile/TileOps.cpp.inc"
#define GET_OP_CLASSES
#include "tilewright/dialect/tile/SortOps.cpp.inc"
#define GET_OP_CLASSES
#include "tilewright/dialect/tile/WindowOps.cpp.inc"

namespace tilewright::tile {

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tilewright/dialect/tile/TileOps.cpp.inc"
      ,
#define GET_OP_LIST
#include "tilewright/dialect/tile/SortOps.cpp.inc"
      ,
#define GET_OP_LIST
#include "tilewright/dialect/tile/WindowOps.cpp.inc"
      >();
}

int64_t KernelOp::getPointCount() {
  int64_t count = 1;
  for (int64_t size : getGrid())
    count *= size;
  return count;
}

} // namespace tilewright::tile
