#include "tilewright/dialect/tile/TileDialect.h"

#include "tilewright/dialect/tile/SortOps.h"

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

#define GET_OP_CLASSES
#include "tilewright/dialect/tile/TileOps.cpp.inc"
#define GET_OP_CLASSES
#include "tilewright/dialect/tile/SortOps.cpp.inc"

namespace tilewright::tile {

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tilewright/dialect/tile/TileOps.cpp.inc"
      ,
#define GET_OP_LIST
#include "tilewright/dialect/tile/SortOps.cpp.inc"
      >();
}

int64_t KernelOp::getPointCount() {
  int64_t count = 1;
  for (int64_t size : getGrid())
    count *= size;
  return count;
}

} // namespace tilewright::tile
