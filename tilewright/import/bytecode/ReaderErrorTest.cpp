// Each way in which the bytes of an artifact can be invalid: one test per error, with the text that
// a user needs.

#include "tilewright/import/bytecode/Reader.h"
#include "tilewright/import/bytecode/testing/RawArtifact.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstring>
#include <sys/mman.h>

using namespace tilewright;
using namespace tilewright::bytecode;
using testing::HasSubstr;
using R = RawArtifact;

static Status statusOf(std::string_view bytes, const ImportOptions &options = {}) {
  return read(std::as_bytes(std::span(bytes)), options).takeStatus();
}

/// Reading `bytes` must fail with `error`, with `words` in the message.
static void expectFailure(std::string_view bytes, Error error, std::string_view words,
                          const ImportOptions &options = {}) {
  Status status = statusOf(bytes, options);
  ASSERT_FALSE(status.isOk()) << "expected " << idOf(error);
  EXPECT_EQ(status.error(), error) << status.toString();
  EXPECT_THAT(status.message(), HasSubstr(words));
}
static void expectFailure(const RawArtifact &artifact, Error error, std::string_view words,
                          const ImportOptions &options = {}) {
  expectFailure(artifact.encode(), error, words, options);
}

/// The sample with one more attribute or type.
static RawArtifact withAttr(uint64_t dialect, Bytes bytes) {
  RawArtifact a = R::sample();
  a.attr(dialect, std::move(bytes));
  return a;
}
static RawArtifact withType(uint64_t dialect, Bytes bytes) {
  RawArtifact a = R::sample();
  a.type(dialect, std::move(bytes));
  return a;
}
/// The sample with another body.
static RawArtifact withBody(uint64_t values, std::vector<Bytes> ops) {
  RawArtifact a = R::sample();
  a.setBody(values, std::move(ops));
  return a;
}

// The container.

TEST(ReaderError, TruncatedSaysWhereAndHowMuch) {
  std::string bytes = R::sample().encode();
  expectFailure(bytes.substr(0, bytes.size() - 3), Error::artifactTruncated, "export it again");
  expectFailure("ML\xEFR\rStableHLO", Error::artifactTruncated,
                "the producer's name is not terminated");
}

TEST(ReaderError, EveryPrefixOfAnArtifactIsRefused) {
  std::string bytes = R::sample().encode();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(statusOf(std::string_view(bytes).substr(0, size)).isOk()) << size;
}

TEST(ReaderError, MagicSuggestsHowToSaveAnArtifact) {
  expectFailure("module {}", Error::artifactMagic, "mlir_module_serialized");
  expectFailure("", Error::artifactMagic, "4d 4c ef 52");
}

TEST(ReaderError, BytecodeVersionNamesTheNewestReadable) {
  RawArtifact a = R::sample();
  a.version = 7;
  expectFailure(a, Error::bytecodeVersion, "version 7, but only versions up to 6 are supported");
}

TEST(ReaderError, ProducerUnknownIsQuoted) {
  RawArtifact a = R::sample();
  a.producer = "MLIR22.1.8";
  expectFailure(a, Error::producerUnknown, "'MLIR22.1.8'");
  a.producer = "StableHLO_v1.x";
  expectFailure(a, Error::producerUnknown, "serialize_portable_artifact");
}

TEST(ReaderError, ProducerVersionSaysWhichTargetToSerializeFor) {
  RawArtifact a = R::sample();
  a.producer = "StableHLO_v1.21.0";
  expectFailure(a, Error::producerVersion, "serialize it with target version 1.20.0");
  a.producer = "StableHLO_v0.8.9";
  expectFailure(a, Error::producerVersion, "only 0.9 to 1.20 are supported");
}

TEST(ReaderError, SectionMalformed) {
  std::string header = R::sample().header().data;
  expectFailure(header + "\x0B\x01", Error::sectionMalformed, "number 11");
  expectFailure(header + "\x80\x01\x07", Error::sectionMalformed, "alignment of 3");
  expectFailure(header + std::string("\x80\x01\x81\x02", 4) + std::string(200, '\0'),
                Error::sectionMalformed, "padding must be 203");
}

TEST(ReaderError, SectionDuplicateNamesBothPlaces) {
  RawArtifact a = R::sample();
  std::string bytes = a.encode() + Bytes().section(0, a.stringSection()).data;
  expectFailure(bytes, Error::sectionDuplicate, "the string section is repeated");
}

TEST(ReaderError, SectionMissingNamesIt) {
  RawArtifact a = R::sample();
  Bytes out = a.header().section(1, a.dialectSection()).section(0, a.stringSection());
  expectFailure(out.data, Error::sectionMissing, "the attribute and type section is missing");
}

TEST(ReaderError, SectionTooLargeForIdsOf32Bits) {
  // Only reserves address space: nothing touches the pages beyond the first.
  const size_t size = (size_t(1) << 32) + 4096;
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Bytes head = R::sample().header().byte(0).varint(size_t(1) << 32);
  std::memcpy(memory, head.data.data(), head.data.size());
  std::string_view bytes(static_cast<char *>(memory), head.data.size() + (size_t(1) << 32));
  expectFailure(bytes, Error::sectionTooLarge, "the limit is 4294967294");
  munmap(memory, size);
}

TEST(ReaderError, TrailingBytesAfterAnEntry) {
  expectFailure(withAttr(R::builtin, Bytes().varint(15).byte(0)), Error::trailingBytes,
                "while reading attribute 6 (unknownLocation)");
  RawArtifact a = R::sample();
  a.ir.byte(1);
  expectFailure(a, Error::trailingBytes, "the IR section has 1 unexpected bytes at its end");
}

TEST(ReaderError, CountTooLargeIsRefusedBeforeMemoryIsSpent) {
  expectFailure(withAttr(R::vhlo, Bytes().varint(1).varint(uint64_t(1) << 60)),
                Error::countTooLarge, "declares 1152921504606846976 attributes");
  RawArtifact a = R::sample();
  Bytes out = a.header().section(1, a.dialectSection()).section(2, a.entrySection());
  out.section(3, a.entrySizeSection()).section(4, a.ir).section(8, a.propertySection());
  expectFailure(out.section(0, Bytes().varint(UINT64_MAX)).data, Error::countTooLarge, "strings");
}

TEST(ReaderError, StringTableMustFitItsSection) {
  RawArtifact a = R::sample();
  Bytes out = a.header().section(1, a.dialectSection()).section(2, a.entrySection());
  out.section(3, a.entrySizeSection()).section(4, a.ir).section(8, a.propertySection());
  Bytes tooLong = out, gap = out;
  expectFailure(tooLong.section(0, Bytes().varint(1).varint(99).raw("abc")).data,
                Error::stringTable, "string 0 has size 99");
  expectFailure(gap.section(0, Bytes().varint(1).varint(2).raw("abcd")).data, Error::stringTable,
                "but their text begins at byte");
}

// Indices.

TEST(ReaderError, StringIndexOutOfRange) {
  expectFailure(withAttr(R::vhlo, Bytes().varint(14).varint(1000)), Error::stringIndex,
                "refers to string 1000, but there are only 10");
}

TEST(ReaderError, DialectIndexOutOfRange) {
  expectFailure(withAttr(9, Bytes().varint(15)), Error::dialectIndex,
                "refers to dialect 9, but there are only 3");
}

TEST(ReaderError, AttrIndexOutOfRange) {
  expectFailure(withAttr(R::vhlo, Bytes().varint(1).list({77})), Error::attrIndex,
                "refers to attribute 77, but there are only 7");
}

TEST(ReaderError, TypeIndexOutOfRange) {
  expectFailure(withType(R::vhlo, Bytes().varint(1).varint(5)), Error::typeIndex,
                "refers to type 5, but there are only 5");
}

TEST(ReaderError, OpNameIndexOutOfRange) {
  expectFailure(withBody(1, {RawOp{.name = 50}.encode()}), Error::opNameIndex,
                "operation 2 refers to operation name 50, but there are only 5");
}

TEST(ReaderError, PropertyIndexOutOfRange) {
  expectFailure(withBody(2, {RawOp{.name = R::constantOp, .properties = 6}.encode()}),
                Error::propertyIndex, "refers to property list 6, but there are only 2");
}

TEST(ReaderError, ValueIndexOutOfRange) {
  expectFailure(withBody(1, {R::ret(1)}), Error::valueIndex,
                "operand 0 of operation 2, vhlo.return_v1");
}

TEST(ReaderError, ValueIndexDoesNotReachOutOfAFunction) {
  RawArtifact a = R::sample();
  Bytes inner = RawOp{.name = R::funcOp,
                      .properties = 0,
                      .regionCount = 1,
                      .isolated = true,
                      .regions = rawRegion(0, {}, {R::ret(0)})}
                    .encode();
  a.setBody(1, {inner, R::ret(0)});
  expectFailure(a, Error::valueIndex, "is value 0, but only 0 are defined");
}

// Types and attributes.

TEST(ReaderError, DialectUnknownIsNamed) {
  RawArtifact a = R::sample();
  a.dialects.push_back(a.string("mpmd"));
  a.attr(3, Bytes().varint(0));
  expectFailure(a, Error::dialectUnknown, "'mpmd'");
}

TEST(ReaderError, TypeCodeUnknown) {
  expectFailure(withType(R::vhlo, Bytes().varint(43)), Error::typeCode,
                "dialect vhlo has no supported type with code 43");
}

TEST(ReaderError, AttrCodeUnknown) {
  expectFailure(withAttr(R::sdy, Bytes().varint(18)), Error::attrCode,
                "dialect sdy has no supported attribute with code 18");
}

TEST(ReaderError, TextualEntry) {
  RawArtifact a = R::sample();
  a.attrs.push_back({R::builtin, Bytes().raw("affine_map<() -> ()>").byte(0), false});
  expectFailure(a, Error::textualEntry, "written as text");
  RawArtifact b = R::sample();
  b.types.push_back({R::builtin, Bytes().raw("vector<4xf32>").byte(0), false});
  expectFailure(b, Error::textualEntry, "while reading type 4");
}

TEST(ReaderError, EntryCycleThroughAttributes) {
  RawArtifact a = R::sample();
  a.attr(R::vhlo, Bytes().varint(1).list({7}));
  a.attr(R::vhlo, Bytes().varint(1).list({6}));
  expectFailure(a, Error::entryCycle, "attribute 6 contains itself through attribute 7");
}

TEST(ReaderError, EntryCycleThroughATypeAndItsEncoding) {
  RawArtifact a = R::sample();
  a.type(R::vhlo, Bytes().varint(21).varint(6).signedList({2}).varint(R::f32));
  a.attr(R::vhlo, Bytes().varint(17).varint(4));
  expectFailure(a, Error::entryCycle, "type 4 contains itself through attribute 6");
}

TEST(ReaderError, EntryKindNamesBothKinds) {
  expectFailure(withAttr(R::builtin, Bytes().varint(10).varint(R::unknown).varint(R::emptyArray)),
                Error::entryKind, "attribute 1 must be a location, got vhloArray");
  expectFailure(withType(R::vhlo, Bytes().varint(1).varint(R::i64)), Error::entryKind,
                "must have element type f32 or f64");
  expectFailure(withType(R::vhlo, Bytes().varint(20).signedList({}).varint(R::tensor)),
                Error::entryKind, "element type #1");
  expectFailure(withAttr(R::vhlo, Bytes().varint(8).varint(R::i64).byte(0)), Error::entryKind,
                "type 3 must be a float type");
  expectFailure(withBody(1, {RawOp{.name = R::returnOp, .location = 1, .operands = {0}}.encode()}),
                Error::entryKind, "the location of operation 2 is attribute 1");
}

TEST(ReaderError, DictionaryOrder) {
  for (const char *second : {"a", "b"}) {
    RawArtifact a = R::sample();
    uint64_t b = a.attr(R::builtin, Bytes().varint(2).varint(a.string("b")));
    uint64_t c = a.attr(R::builtin, Bytes().varint(2).varint(a.string(second)));
    a.attr(R::builtin, Bytes().varint(1).varint(2).varint(b).varint(b).varint(c).varint(c));
    expectFailure(a, Error::dictionaryOrder, "must be distinct and sorted");
  }
}

TEST(ReaderError, EnumValue) {
  expectFailure(withAttr(R::vhlo, Bytes().varint(3).varint(6)), Error::enumValue,
                "an enum value must be 0 to 5, got 6");
  expectFailure(withAttr(R::vhlo, Bytes().varint(13).varint(0)), Error::enumValue,
                "must be 1 to 2");
  expectFailure(withAttr(R::vhlo, Bytes().varint(2).varint(2)), Error::enumValue, "0 to 1");
}

TEST(ReaderError, IntegerWidth) {
  expectFailure(withType(R::builtin, Bytes().varint(0).varint(uint64_t(1) << 40)),
                Error::integerWidth, "a width of 1 to 16777215");
  expectFailure(withType(R::builtin, Bytes().varint(0).varint(32 << 2 | 3)), Error::integerWidth,
                "signedness 3");
}

TEST(ReaderError, IntegerValue) {
  RawArtifact a = R::sample();
  uint64_t i4 = a.type(R::vhlo, Bytes().varint(10));
  a.attr(R::vhlo, Bytes().varint(9).varint(i4).byte(16));
  expectFailure(a, Error::integerValue, "value 16 does not fit in 4 bits");
  RawArtifact b = R::sample();
  uint64_t file = b.attr(R::builtin, Bytes().varint(2).varint(0));
  b.attr(R::builtin, Bytes().varint(11).varint(file).varint(uint64_t(1) << 33).varint(0));
  expectFailure(b, Error::integerValue, "line or column 8589934592");
}

TEST(ReaderError, ShapeInvalid) {
  expectFailure(withType(R::vhlo, Bytes().varint(20).signedList({-5}).varint(R::f32)),
                Error::shapeInvalid, "must not be negative, got -5");
  expectFailure(
      withType(R::vhlo, Bytes().varint(20).signedList({1l << 62, 1l << 62}).varint(R::f32)),
      Error::shapeInvalid, "[4611686018427387904, 4611686018427387904]");
}

TEST(ReaderError, ShapeInvalidForAConstantOfUnknownSize) {
  RawArtifact a = R::sample();
  uint64_t type = a.type(R::vhlo, Bytes().varint(20).signedList({INT64_MIN}).varint(R::f32));
  a.attr(R::vhlo, Bytes().varint(15).varint(type).blob("abcd"));
  expectFailure(a, Error::shapeInvalid, "must have a static shape");
}

TEST(ReaderError, QuantizedType) {
  RawArtifact a = R::sample();
  uint64_t i8 = a.type(R::vhlo, Bytes().varint(11));
  RawArtifact b = a, c = a;
  a.type(R::vhlo, Bytes()
                      .varint(24)
                      .varint(1)
                      .varint(R::f32)
                      .varint(R::f32)
                      .signedVarint(1)
                      .signedVarint(0)
                      .signedVarint(-128)
                      .signedVarint(127));
  expectFailure(a, Error::quantizedType, "got types #0");
  b.type(R::vhlo, Bytes()
                      .varint(24)
                      .varint(1)
                      .varint(i8)
                      .varint(R::f32)
                      .signedVarint(1)
                      .signedVarint(0)
                      .signedVarint(127)
                      .signedVarint(-128));
  expectFailure(b, Error::quantizedType, "storage range 127 to -128");
  c.type(R::vhlo, Bytes()
                      .varint(30)
                      .varint(1)
                      .varint(i8)
                      .varint(R::f32)
                      .varint(0)
                      .signedVarint(0)
                      .signedVarint(9)
                      .signedList({1, 2})
                      .signedList({0}));
  expectFailure(c, Error::quantizedType, "2 scales and 1 zero points");
}

TEST(ReaderError, LiteralSize) {
  expectFailure(withAttr(R::vhlo, Bytes().varint(15).varint(R::tensor).blob("abc")),
                Error::literalSize, "of shape 2 and element type f32 has 3 bytes");
}

TEST(ReaderError, ResourcesPresent) {
  std::string bytes = R::sample().encode();
  expectFailure(bytes + Bytes().section(5, Bytes().raw("data")).data, Error::resourcesPresent,
                "dense_resource");
  expectFailure(bytes + Bytes().section(6, Bytes().varint(1)).data, Error::resourcesPresent,
                "dense_resource");
}

// Operations.

TEST(ReaderError, OpUnknown) {
  RawArtifact a = R::sample();
  a.name(R::vhlo, "frobnicate_v1");
  expectFailure(a, Error::opUnknown, "vhlo.'frobnicate_v1'");
  RawArtifact b = R::sample();
  b.names[2].registered = false;
  expectFailure(b, Error::opUnknown, "its producer had not registered");
}

TEST(ReaderError, OpVersionNamesTheRange) {
  RawArtifact a = R::sample();
  a.name(R::vhlo, "gather_v1");
  expectFailure(a, Error::opVersion,
                "vhlo.gather_v1 belongs to StableHLO 0.9 to 1.0, but the artifact is for 1.17");
}

TEST(ReaderError, OpMask) {
  expectFailure(withBody(1, {RawOp{.name = R::returnOp, .extraMask = 0x80}.encode()}),
                Error::opMask, "has the encoding mask 128");
}

TEST(ReaderError, OpSuccessors) {
  expectFailure(withBody(1, {RawOp{.name = R::returnOp, .extraMask = 0x08}.encode()}),
                Error::opSuccessors, "has successor blocks");
}

TEST(ReaderError, OpPropertiesMissingAndTooMany) {
  RawArtifact a = R::sample();
  a.properties[1] = Bytes();
  expectFailure(a, Error::opProperties, "has 0 properties, expected 1: 'value' is missing");
  a.properties[1] = Bytes().varint(R::constantValue).varint(R::constantValue);
  expectFailure(a, Error::opProperties, "1 extra bytes after its 1 properties");
  expectFailure(
      withBody(2, {RawOp{.name = R::constantOp, .results = {R::tensor}}.encode(), R::ret(1)}),
      Error::opProperties, "has no properties, expected 1");
}

TEST(ReaderError, OpPropertiesMissingFromAnOldDictionary) {
  RawArtifact a = R::sample();
  a.version = 1;
  a.producer = "StableHLO_v0.10.0";
  a.ir = Bytes().flagged(1, false).append(
      RawOp{.name = R::moduleOp,
            .regionCount = 1,
            .regions = rawRegion(0, {}, {RawOp{.name = R::funcOp}.encode()})}
          .encode());
  // Before bytecode 2, regions are inline whether isolated or not.
  std::string bytes = a.encode();
  Status status = statusOf(bytes);
  EXPECT_EQ(status.error(), Error::opIsolation) << status.toString();
  a.ir = Bytes().flagged(1, false).varint(R::moduleOp).byte(0x10).varint(0).flagged(1, true);
  a.ir.append(rawRegion(0, {}, {RawOp{.name = R::funcOp}.encode()}));
  expectFailure(a, Error::opProperties, "has no attribute 'arg_attrs'");
}

TEST(ReaderError, OpOperands) {
  Bytes op = RawOp{.name = R::addOp, .results = {R::tensor}, .operands = {0}}.encode();
  expectFailure(withBody(2, {op, R::ret(1)}), Error::opOperands, "has 1 operands, expected 2");
}

TEST(ReaderError, OpResults) {
  Bytes op = RawOp{.name = R::addOp, .operands = {0, 0}}.encode();
  expectFailure(withBody(1, {op, R::ret(0)}), Error::opResults, "has 0 results, expected 1");
}

TEST(ReaderError, OpRegions) {
  Bytes op = RawOp{.name = R::funcOp, .properties = 0}.encode();
  expectFailure(withBody(1, {op, R::ret(0)}), Error::opRegions, "has 0 regions, expected 1");
}

TEST(ReaderError, OpIsolation) {
  Bytes op =
      RawOp{.name = R::funcOp, .properties = 0, .regionCount = 1, .regions = rawRegion(0, {}, {})}
          .encode();
  expectFailure(withBody(1, {op, R::ret(0)}), Error::opIsolation,
                "must be marked as isolated from above");
}

TEST(ReaderError, RegionBlocks) {
  RawArtifact a = R::sample();
  uint64_t ifOp = a.name(R::vhlo, "if_v1");
  Bytes op = RawOp{.name = ifOp,
                   .operands = {0},
                   .regionCount = 2,
                   .regions = Bytes().varint(2).varint(0).raw("........")}
                 .encode();
  a.setBody(1, {op, R::ret(0)});
  expectFailure(a, Error::regionBlocks, "vhlo.if_v1, has 2 blocks");
}

TEST(ReaderError, ValueOrder) {
  expectFailure(withBody(3, {R::add(0, 2), R::constant(), R::ret(1)}), Error::valueOrder,
                "operand 1 of operation 2, vhlo.add_v1");
}

TEST(ReaderError, ValueOrderHoldsForAnOperationsOwnResult) {
  RawArtifact a = R::sample();
  uint64_t ifOp = a.name(R::vhlo, "if_v1");
  Bytes branch = rawRegion(0, {}, {R::ret(1)});
  Bytes op = RawOp{.name = ifOp,
                   .results = {R::tensor},
                   .operands = {0},
                   .regionCount = 2,
                   .regions = Bytes().append(branch).append(branch)}
                 .encode();
  a.setBody(2, {op, R::ret(1)});
  expectFailure(a, Error::valueOrder, "is value 1, which is defined later");
}

TEST(ReaderError, ValueCountMustBeExact) {
  expectFailure(withBody(2, {R::ret(0)}), Error::valueCount,
                "does not define 1 of the values that it declares");
  expectFailure(withBody(1, {R::constant(), R::ret(1)}), Error::valueCount,
                "the enclosing region declares only 0 more values");
  expectFailure(withBody(0, {R::ret(0)}), Error::valueCount, "a block has 1 arguments");
}

TEST(ReaderError, UseListOrder) {
  Bytes op = RawOp{.name = R::returnOp, .operands = {0}, .useListOrder = Bytes().flagged(0, false)}
                 .encode();
  expectFailure(withBody(1, {op}), Error::useListOrder, "for value 0, but there are only 0");
}

TEST(ReaderError, ModuleRoot) {
  RawArtifact a = R::sample();
  a.ir = Bytes().flagged(0, false);
  expectFailure(a, Error::moduleRoot, "has 0 operations");
  a.ir = Bytes().flagged(1, false).append(RawOp{.name = R::returnOp}.encode());
  expectFailure(a, Error::moduleRoot, "the outermost operation is vhlo.return_v1");
}

// Limits: each message names the option to raise.

TEST(ReaderError, LimitBytes) {
  ImportOptions options;
  options.maxBytes = 16;
  expectFailure(R::sample(), Error::limitBytes, "raise import.max-bytes", options);
}

TEST(ReaderError, LimitOps) {
  ImportOptions options;
  options.maxOps = 4;
  expectFailure(R::sample(), Error::limitOps, "more than 4 operations; raise import.max-ops",
                options);
}

TEST(ReaderError, LimitNestingOfAttributes) {
  RawArtifact a = R::sample();
  uint64_t inner = R::unknown;
  for (int i = 0; i < 300; ++i)
    inner = a.attr(R::builtin, Bytes().varint(0).list({inner}));
  expectFailure(a, Error::limitNesting, "but the limit is 256; raise import.max-nesting");
}

TEST(ReaderError, LimitNestingOfLocationsAndTypes) {
  RawArtifact a = R::sample();
  for (int i = 0; i < 300; ++i) // each refers to the next, so the first is the deepest
    a.attr(R::builtin, Bytes().varint(10).varint(i < 299 ? a.attrs.size() + 1 : 0).varint(0));
  expectFailure(a, Error::limitNesting, "import.max-nesting");
  RawArtifact b = R::sample();
  uint64_t inner = R::f32;
  for (int i = 0; i < 300; ++i)
    inner = b.type(R::vhlo, Bytes().varint(23).list({inner}));
  expectFailure(b, Error::limitNesting, "import.max-nesting");
}

TEST(ReaderError, LimitNestingOfRegions) {
  RawArtifact a = R::sample();
  uint64_t caseOp = a.name(R::vhlo, "case_v1");
  Bytes inner = R::ret(0);
  for (int i = 0; i < 300; ++i)
    inner =
        RawOp{
            .name = caseOp, .operands = {0}, .regionCount = 1, .regions = rawRegion(0, {}, {inner})}
            .encode();
  a.setBody(1, {inner});
  expectFailure(a, Error::limitNesting, "regions are nested more than 256 deep");
}

TEST(ReaderError, LimitRank) {
  ImportOptions options;
  options.maxRank = 2;
  expectFailure(withType(R::vhlo, Bytes().varint(20).signedList({1, 1, 1}).varint(R::f32)),
                Error::limitRank, "3 dimensions, but the limit is 2; raise import.max-rank",
                options);
}

TEST(ReaderError, LimitElements) {
  expectFailure(
      withType(R::vhlo, Bytes().varint(20).signedList({1l << 30, 1l << 28}).varint(R::f32)),
      Error::limitElements, "raise import.max-elements");
}

TEST(ReaderError, LimitLiteralBytes) {
  ImportOptions options;
  options.maxLiteralBytes = 7;
  expectFailure(R::sample(), Error::limitLiteralBytes, "raise import.max-literal-bytes", options);
}
