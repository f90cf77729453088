#include "tilewright/import/bytecode/Operations.h"

#include "tilewright/import/bytecode/AttrLayout.h"
#include "tilewright/import/bytecode/Scopes.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <utility>

namespace tilewright::bytecode {
namespace {

/// The bits that say which parts of an operation follow its name.
enum Part : uint8_t {
  hasAttributes = 0x01,
  hasResults = 0x02,
  hasOperands = 0x04,
  hasSuccessors = 0x08,
  hasRegions = 0x10,
  hasUseListOrders = 0x20,
  hasProperties = 0x40,
};

/// An operation has at least a name, a mask and a location.
constexpr size_t minOperationBytes = 3;

class OperationReader {
public:
  OperationReader(const Container &container, const ImportOptions &options, Module &module)
      : container(container), options(options), module(module),
        propertyLists(container.properties.size()) {
    if (container.bytecodeVersion < 5)
      dictionaryLists.resize(module.attrs.size());
  }

  Status read();

private:
  /// An operation whose regions are being read.
  struct Frame {
    OpId op;
    RegionId region, endRegion;
    uint64_t opsLeft;
    size_t outerScope;
    bool isolated, ownCursor;
  };
  /// The decoded attributes of an encoded list, kept because many operations share a list.
  struct KnownList {
    const OpRow *row = nullptr;
    Range attributes;
  };

  Cursor &cursor() { return cursors.back(); }

  Status readOp();
  Status readAttributes(uint8_t mask, const OpRow &row, Operation &op);
  Status readPropertyList(const OpRow &row, Operation &op);
  Status splitDictionary(const OpRow &row, Operation &op);
  Status readResults(uint8_t mask, const OpRow &row, Operation &op);
  Status readOperands(uint8_t mask, const OpRow &row, Operation &op);
  Status readRegionCount(uint8_t mask, const OpRow &row, Operation &op, bool &isolated);
  Status skipUseListOrders(uint64_t values);
  Status enterRegions(OpId id, bool isolated);
  Status openRegion(Frame &frame);
  Status readBlockHeader(Frame &frame, Region &region);
  Status readArguments(Region &region);
  Status closeRegion(Frame &frame);
  void finishOp(OpId id);

  /// Reads an index below `size`.
  Status index(uint32_t &id, size_t size, Error error, std::string_view thing) {
    uint64_t value = 0;
    TILEWRIGHT_TRY(cursor().varint(value));
    return checkIndex(value, id, size, error, thing);
  }
  Status checkIndex(uint64_t value, uint32_t &id, size_t size, Error error, std::string_view thing);
  Status typeIndex(TypeId &id) { return index(id, module.types.size(), Error::typeIndex, "type"); }
  Status location(AttrId &id);
  /// "operation 12, vhlo.add_v1, at byte 345" for messages.
  std::string here(const OpRow &row) const {
    return concat("operation ", module.operations.size(), ", ", row.fullName(), ", at byte ",
                  opOffset);
  }

  const Container &container;
  const ImportOptions &options;
  Module &module;
  /// Indexed by property list and by dictionary id.
  std::vector<KnownList> propertyLists, dictionaryLists;
  /// The sections being read: an isolated operation has its own section.
  std::vector<Cursor> cursors;
  std::vector<Frame> frames;
  Scopes scopes;
  size_t opOffset = 0;
};

Status OperationReader::read() {
  cursors.push_back(container.cursorOf(Section::operations));
  uint64_t count = 0;
  bool hasArguments = false;
  TILEWRIGHT_TRY(cursor().flagged(count, hasArguments));
  if (count != 1 || hasArguments)
    return Status(Error::moduleRoot,
                  concat("the IR section has ", count, " operations ",
                         hasArguments ? "and block arguments " : "",
                         "at top level, expected one builtin.module; export the artifact again"));
  // Reserve space for all operations at once. The remaining bytes are an upper bound on their
  // number, capped so that a large file does not reserve too much.
  module.operations.reserve(
      std::min<size_t>(cursor().remaining() / minOperationBytes, size_t(1) << 16));
  TILEWRIGHT_TRY(readOp());
  if (module.rowOf(module.operations[0]).op != Op::builtinModule)
    return Status(Error::moduleRoot,
                  concat("the outermost operation is ",
                         module.rowOf(module.operations[0]).fullName(),
                         ", expected builtin.module; export the artifact again"));
  while (!frames.empty()) {
    Frame &frame = frames.back();
    if (frame.opsLeft != 0) {
      --frame.opsLeft;
      TILEWRIGHT_TRY(readOp());
      continue;
    }
    TILEWRIGHT_TRY(closeRegion(frame));
    if (++frame.region != frame.endRegion) {
      TILEWRIGHT_TRY(openRegion(frame));
      continue;
    }
    Frame done = frame;
    frames.pop_back();
    if (done.ownCursor) {
      TILEWRIGHT_TRY(cursor().finish());
      cursors.pop_back();
    }
    if (done.isolated)
      scopes.leaveIsolated(done.outerScope);
    finishOp(done.op);
  }
  return cursor().finish();
}

Status OperationReader::readOp() {
  if (options.maxOps < 0 || module.operations.size() >= static_cast<uint64_t>(options.maxOps))
    return Status(Error::limitOps, concat("the artifact has more than ", options.maxOps,
                                          " operations; raise import.max-ops"));
  opOffset = cursor().offset();
  Operation op;
  TILEWRIGHT_TRY(index(op.name, module.opNames.size(), Error::opNameIndex, "operation name"));
  const OpRow &row = module.rowOf(op);
  uint8_t mask = 0;
  TILEWRIGHT_TRY(cursor().byte(mask));
  if (mask & hasSuccessors)
    return Status(Error::opSuccessors,
                  concat(here(row), " has successor blocks, but StableHLO operations have none; "
                                    "export the artifact again"));
  uint8_t known = hasAttributes | hasResults | hasOperands | hasRegions;
  known |= container.bytecodeVersion >= 3 ? hasUseListOrders : 0;
  known |= container.bytecodeVersion >= 5 ? hasProperties : 0;
  if (mask & ~known)
    return Status(Error::opMask,
                  concat(here(row), " has the encoding mask ", mask, ", but bytecode version ",
                         container.bytecodeVersion, " defines only the bits ", known,
                         "; export the artifact again"));
  TILEWRIGHT_TRY(location(op.location));
  TILEWRIGHT_TRY(readAttributes(mask, row, op));
  TILEWRIGHT_TRY(readResults(mask, row, op));
  TILEWRIGHT_TRY(readOperands(mask, row, op));
  if (mask & hasUseListOrders)
    TILEWRIGHT_TRY(skipUseListOrders(op.resultCount));
  bool isolated = false;
  TILEWRIGHT_TRY(readRegionCount(mask, row, op, isolated));

  OpId id = static_cast<OpId>(module.operations.size());
  module.operations.push_back(op);
  if (op.regions.size != 0)
    return enterRegions(id, isolated);
  finishOp(id);
  return Status();
}

/// Ends an operation; from here on its results can be used.
void OperationReader::finishOp(OpId id) {
  Operation &op = module.operations[id];
  op.end = static_cast<OpId>(module.operations.size());
  if (op.resultCount != 0)
    scopes.show(op.resultCount);
}

Status OperationReader::checkIndex(uint64_t value, uint32_t &id, size_t size, Error error,
                                   std::string_view thing) {
  if (value >= size)
    return Status(error, concat("just before byte ", cursor().offset(), ", operation ",
                                module.operations.size(), " refers to ", thing, " ", value,
                                ", but there are only ", size, "; export the artifact again"));
  id = static_cast<uint32_t>(value);
  return Status();
}

Status OperationReader::location(AttrId &id) {
  TILEWRIGHT_TRY(index(id, module.attrs.size(), Error::attrIndex, "attribute"));
  if (isLocation(module.attrs[id].kind))
    return Status();
  return Status(Error::entryKind,
                concat("just before byte ", cursor().offset(), ", the location of operation ",
                       module.operations.size(), " is attribute ", id,
                       ", which must be a location, got ", nameOf(module.attrs[id].kind),
                       "; export the artifact again"));
}

Status OperationReader::readAttributes(uint8_t mask, const OpRow &row, Operation &op) {
  if (mask & hasAttributes) {
    TILEWRIGHT_TRY(index(op.attributes, module.attrs.size(), Error::attrIndex, "attribute"));
    if (module.attrs[op.attributes].kind != AttrKind::dictionary)
      return Status(Error::entryKind, concat(here(row), " has attribute ", op.attributes,
                                             " as its dictionary, which must be a dictionary, got ",
                                             nameOf(module.attrs[op.attributes].kind),
                                             "; export the artifact again"));
  }
  if (mask & hasProperties)
    return readPropertyList(row, op);
  if (container.bytecodeVersion < 5)
    return splitDictionary(row, op);
  if (!std::all_of(row.optional.begin(), row.optional.end(), [](bool o) { return o; }))
    return Status(Error::opProperties,
                  concat(here(row), " has no properties, expected ", row.attributes.size(),
                         "; export the artifact again"));
  op.properties = {static_cast<uint32_t>(module.attrLists.size()),
                   static_cast<uint32_t>(row.attributes.size())};
  module.attrLists.resize(module.attrLists.size() + row.attributes.size(), absent);
  return Status();
}

Status OperationReader::readPropertyList(const OpRow &row, Operation &op) {
  uint32_t list = 0;
  TILEWRIGHT_TRY(index(list, container.properties.size(), Error::propertyIndex, "property list"));
  KnownList &known = propertyLists[list];
  if (known.row == &row) {
    op.properties = known.attributes;
    return Status();
  }
  const Slice &slice = container.properties[list];
  Cursor fields(slice.bytes, slice.offset, "a property list");
  op.properties = {static_cast<uint32_t>(module.attrLists.size()),
                   static_cast<uint32_t>(row.attributes.size())};
  for (size_t i = 0; i < row.attributes.size(); ++i) {
    if (fields.atEnd())
      return Status(Error::opProperties,
                    concat(here(row), " has ", i, " properties, expected ", row.attributes.size(),
                           ": '", row.attributes[i], "' is missing; export the artifact again"));
    uint64_t value = 0;
    bool present = true;
    if (row.optional[i])
      TILEWRIGHT_TRY(fields.flagged(value, present));
    else
      TILEWRIGHT_TRY(fields.varint(value));
    AttrId attr = absent;
    if (present)
      TILEWRIGHT_TRY(checkIndex(value, attr, module.attrs.size(), Error::attrIndex, "attribute"));
    module.attrLists.push_back(attr);
  }
  if (!fields.atEnd())
    return Status(Error::opProperties,
                  concat(here(row), " has ", fields.remaining(), " extra bytes after its ",
                         row.attributes.size(), " properties; export the artifact again"));
  known = {&row, op.properties};
  return Status();
}

/// Up to bytecode 4 the dictionary also contains the inherent attributes.
Status OperationReader::splitDictionary(const OpRow &row, Operation &op) {
  if (op.attributes != absent && dictionaryLists[op.attributes].row == &row) {
    op.properties = dictionaryLists[op.attributes].attributes;
    return Status();
  }
  std::span<const AttrId> pairs;
  if (op.attributes != absent)
    pairs = module.attrsIn(module.attrs[op.attributes].list);
  std::vector<AttrId> found;
  for (size_t i = 0; i < row.attributes.size(); ++i) {
    size_t low = 0, high = pairs.size() / 2;
    while (low < high) {
      size_t middle = (low + high) / 2;
      if (module.textOf(pairs[2 * middle]) < row.attributes[i])
        low = middle + 1;
      else
        high = middle;
    }
    const bool isThere =
        2 * low < pairs.size() && module.textOf(pairs[2 * low]) == row.attributes[i];
    if (!isThere && !row.optional[i])
      return Status(Error::opProperties, concat(here(row), " has no attribute '", row.attributes[i],
                                                "'; export the artifact again"));
    found.push_back(isThere ? pairs[2 * low + 1] : absent);
  }
  op.properties = {static_cast<uint32_t>(module.attrLists.size()),
                   static_cast<uint32_t>(found.size())};
  module.attrLists.insert(module.attrLists.end(), found.begin(), found.end());
  if (op.attributes != absent)
    dictionaryLists[op.attributes] = {&row, op.properties};
  return Status();
}

Status OperationReader::readResults(uint8_t mask, const OpRow &row, Operation &op) {
  uint64_t count = 0;
  if (mask & hasResults)
    TILEWRIGHT_TRY(cursor().count(count, "results"));
  if (!row.results.accepts(count))
    return Status(Error::opResults, concat(here(row), " has ", count, " results, expected ",
                                           row.results.expected(), "; export the artifact again"));
  if (count == 0)
    return Status();
  if (scopes.empty() || count > scopes.unnamed())
    return Status(Error::valueCount, concat(here(row), " has ", count,
                                            " results, but the enclosing region declares only ",
                                            scopes.empty() ? 0 : scopes.unnamed(),
                                            " more values; export the artifact again"));
  op.resultCount = static_cast<uint32_t>(count);
  op.firstResult = scopes.name(count);
  for (uint64_t i = 0; i < count; ++i)
    TILEWRIGHT_TRY(typeIndex(module.valueTypes[op.firstResult + i]));
  return Status();
}

Status OperationReader::readOperands(uint8_t mask, const OpRow &row, Operation &op) {
  uint64_t count = 0;
  if (mask & hasOperands)
    TILEWRIGHT_TRY(cursor().count(count, "operands"));
  if (!row.operands.accepts(count))
    return Status(Error::opOperands,
                  concat(here(row), " has ", count, " operands, expected ", row.operands.expected(),
                         "; export the artifact again"));
  op.operands = {static_cast<uint32_t>(module.operands.size()), static_cast<uint32_t>(count)};
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t number = 0;
    TILEWRIGHT_TRY(cursor().varint(number));
    ValueId value = 0;
    switch (scopes.find(number, value)) {
    case Scopes::Lookup::found:
      break;
    case Scopes::Lookup::noSuchNumber:
      return Status(Error::valueIndex,
                    concat("operand ", i, " of ", here(row), " is value ", number, ", but only ",
                           scopes.limit(), " are defined; export the artifact again"));
    case Scopes::Lookup::notYetDefined:
      return Status(Error::valueOrder,
                    concat("operand ", i, " of ", here(row), " is value ", number,
                           ", which is defined later; sort the operations before serializing"));
    }
    module.operands.push_back(value);
  }
  return Status();
}

/// Checks only the syntax: the order in which MLIR lists the uses of a value has no meaning here.
Status OperationReader::skipUseListOrders(uint64_t values) {
  uint64_t count = 1;
  if (values > 1)
    TILEWRIGHT_TRY(cursor().count(count, "use-list orders", /*bytesEach=*/2));
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t value = 0, length = 0;
    bool pairs = false;
    if (values > 1)
      TILEWRIGHT_TRY(cursor().varint(value));
    if (value >= values)
      return Status(Error::useListOrder,
                    concat("just before byte ", cursor().offset(),
                           ", a use-list order is for value ", value, ", but there are only ",
                           values, "; export the artifact again"));
    TILEWRIGHT_TRY(cursor().flagged(length, pairs));
    TILEWRIGHT_TRY(cursor().checkCount(length, "uses"));
    for (uint64_t use = 0; use < length; ++use) {
      uint64_t ignored = 0;
      TILEWRIGHT_TRY(cursor().varint(ignored));
    }
  }
  return Status();
}

Status OperationReader::readRegionCount(uint8_t mask, const OpRow &row, Operation &op,
                                        bool &isolated) {
  uint64_t count = 0;
  if (mask & hasRegions) {
    TILEWRIGHT_TRY(cursor().flagged(count, isolated));
    TILEWRIGHT_TRY(cursor().checkCount(count, "regions"));
  }
  if (!row.regions.accepts(count))
    return Status(Error::opRegions, concat(here(row), " has ", count, " regions, expected ",
                                           row.regions.expected(), "; export the artifact again"));
  // A producer may mark any operation as isolated if its regions happen to use no outer values;
  // operations that are always isolated from above must be marked.
  if (count != 0 && row.isolated && !isolated)
    return Status(
        Error::opIsolation,
        concat(here(row), " must be marked as isolated from above; export the artifact again"));
  if (module.regions.size() + count > container.cursorOf(Section::operations).remaining())
    return cursor().checkCount(UINT64_MAX, "regions");
  op.regions = {static_cast<uint32_t>(module.regions.size()), static_cast<uint32_t>(count)};
  module.regions.resize(module.regions.size() + count);
  return Status();
}

Status OperationReader::enterRegions(OpId id, bool isolated) {
  if (options.maxNesting < 0 || frames.size() >= static_cast<uint64_t>(options.maxNesting))
    return Status(Error::limitNesting,
                  concat("at byte ", opOffset, ", regions are nested more than ",
                         options.maxNesting, " deep; raise import.max-nesting"));
  const Operation &op = module.operations[id];
  Frame frame{id, op.regions.begin, op.regions.end(), 0, 0, isolated, false};
  if (isolated) {
    frame.outerScope = scopes.enterIsolated();
    if (container.bytecodeVersion >= 2) {
      TILEWRIGHT_ASSIGN(NestedSection nested, readSection(cursor()));
      if (nested.section != Section::operations)
        return Status(Error::sectionMalformed,
                      concat("at byte ", nested.content.offset,
                             ", expected an IR section with the regions of an operation, got ",
                             nameOf(nested.section), "; export the artifact again"));
      cursors.emplace_back(nested.content.bytes, nested.content.offset, "a nested IR section");
      frame.ownCursor = true;
    }
  }
  frames.push_back(frame);
  return openRegion(frames.back());
}

Status OperationReader::openRegion(Frame &frame) {
  Region &region = module.regions[frame.region];
  region.parent = frame.op;
  region.firstOp = region.endOp = static_cast<OpId>(module.operations.size());
  uint64_t blocks = 0;
  TILEWRIGHT_TRY(cursor().varint(blocks));
  if (blocks == 0)
    return Status();
  if (blocks != 1)
    return Status(Error::regionBlocks,
                  concat("just before byte ", cursor().offset(), ", a region of operation ",
                         frame.op, ", ", module.rowOf(module.operations[frame.op]).fullName(),
                         ", has ", blocks,
                         " blocks, expected at most 1; export the artifact again"));
  region.hasBlock = true;
  uint64_t values = 0;
  TILEWRIGHT_TRY(cursor().count(values, "values"));
  // Each value takes at least one byte of the section; check that here, because nested regions
  // could otherwise claim the same bytes repeatedly.
  if (module.valueTypes.size() + values > container.cursorOf(Section::operations).remaining())
    return cursor().checkCount(UINT64_MAX, "values");
  scopes.open(values, static_cast<ValueId>(module.valueTypes.size()));
  module.valueTypes.resize(module.valueTypes.size() + values, 0);
  return readBlockHeader(frame, region);
}

Status OperationReader::readBlockHeader(Frame &frame, Region &region) {
  bool hasArguments = false;
  TILEWRIGHT_TRY(cursor().flagged(frame.opsLeft, hasArguments));
  TILEWRIGHT_TRY(cursor().checkCount(frame.opsLeft, "operations", minOperationBytes));
  if (!hasArguments)
    return Status();
  TILEWRIGHT_TRY(readArguments(region));
  if (container.bytecodeVersion < 3)
    return Status();
  uint8_t hasOrders = 0;
  TILEWRIGHT_TRY(cursor().byte(hasOrders));
  return hasOrders ? skipUseListOrders(region.argumentCount) : Status();
}

Status OperationReader::readArguments(Region &region) {
  uint64_t count = 0;
  TILEWRIGHT_TRY(cursor().count(count, "block arguments"));
  if (count > scopes.unnamed())
    return Status(Error::valueCount,
                  concat("just before byte ", cursor().offset(), ", a block has ", count,
                         " arguments, but its region declares only ", scopes.unnamed(),
                         " values; export the artifact again"));
  region.argumentCount = static_cast<uint32_t>(count);
  region.firstArgument = scopes.name(count);
  region.argumentLocations = {static_cast<uint32_t>(module.attrLists.size()),
                              static_cast<uint32_t>(count)};
  for (uint64_t i = 0; i < count; ++i) {
    TypeId &type = module.valueTypes[region.firstArgument + i];
    AttrId where = absent;
    bool hasLocation = true;
    if (container.bytecodeVersion < 4) {
      TILEWRIGHT_TRY(typeIndex(type));
    } else {
      uint64_t value = 0;
      TILEWRIGHT_TRY(cursor().flagged(value, hasLocation));
      TILEWRIGHT_TRY(checkIndex(value, type, module.types.size(), Error::typeIndex, "type"));
    }
    if (hasLocation)
      TILEWRIGHT_TRY(location(where));
    module.attrLists.push_back(where);
  }
  scopes.show(count);
  return Status();
}

Status OperationReader::closeRegion(Frame &frame) {
  Region &region = module.regions[frame.region];
  region.endOp = static_cast<OpId>(module.operations.size());
  if (!region.hasBlock)
    return Status();
  if (scopes.unnamed() != 0)
    return Status(Error::valueCount,
                  concat("the region of operation ", frame.op, " that ends at byte ",
                         cursor().offset(), " does not define ", scopes.unnamed(),
                         " of the values that it declares; export the artifact again"));
  scopes.close();
  return Status();
}

} // namespace

Status readOperations(const Container &container, const ImportOptions &options, Module &module) {
  return OperationReader(container, options, module).read();
}

} // namespace tilewright::bytecode
