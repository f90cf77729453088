// tile.sort, and the ops that make up radix sorts, scans and scatters. In a header of their own,
// because few files need them.
#ifndef TILEWRIGHT_DIALECT_TILE_SORTOPS_H
#define TILEWRIGHT_DIALECT_TILE_SORTOPS_H

#include "tilewright/dialect/tile/TileDialect.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/tile/SortOps.h.inc"

#endif // TILEWRIGHT_DIALECT_TILE_SORTOPS_H
