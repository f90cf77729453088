// What read() accepts and what it puts into the tables; ReaderErrorTest.cpp tests what it rejects.

#include "tilewright/import/bytecode/Reader.h"
#include "tilewright/import/bytecode/testing/RawArtifact.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::bytecode;
using testing::ElementsAre;

/// Keeps the bytes alive together with the module that was read from them.
struct Decoded {
  std::string bytes;
  Module module;
};

static Decoded decode(const RawArtifact &artifact) {
  Decoded result{artifact.encode(), {}};
  Result<Module> module = read(std::as_bytes(std::span(result.bytes)), ImportOptions());
  EXPECT_TRUE(module.isOk()) << std::move(module).takeStatus().toString();
  if (module.isOk())
    result.module = *std::move(module);
  return result;
}

TEST(Reader, NumbersValuesAndOperationsDensely) {
  Decoded decoded = decode(RawArtifact::sample());
  const Module &m = decoded.module;
  EXPECT_EQ(m.producer, (Version{1, 17}));
  EXPECT_EQ(m.bytecodeVersion, 6u);
  ASSERT_EQ(m.operations.size(), 5u);
  EXPECT_EQ(m.rowOf(m.operations[0]).op, Op::builtinModule);
  EXPECT_EQ(m.operations[0].end, 5u);
  EXPECT_EQ(m.rowOf(m.operations[1]).op, Op::func_v1);
  EXPECT_EQ(m.textOf(m.propertiesOf(m.operations[1])[3]), "main");
  const Region &body = m.regionsOf(m.operations[1])[0];
  EXPECT_EQ(body.parent, 1u);
  EXPECT_EQ(body.firstOp, 2u);
  EXPECT_EQ(body.endOp, 5u);
  EXPECT_EQ(body.argumentCount, 1u);
  EXPECT_THAT(m.operandsOf(m.operations[3]), ElementsAre(0, 1));
  EXPECT_EQ(m.operations[3].firstResult, 2u);
  EXPECT_THAT(m.valueTypes,
              ElementsAre(RawArtifact::tensor, RawArtifact::tensor, RawArtifact::tensor));
}

TEST(Reader, LiteralsAreViewsIntoTheInput) {
  Decoded decoded = decode(RawArtifact::sample());
  ASSERT_EQ(decoded.module.literals.size(), 1u);
  const Literal &literal = decoded.module.literals[0];
  EXPECT_EQ(literal.form, LiteralForm::elements);
  EXPECT_EQ(literal.elementCount, 2);
  const char *data = reinterpret_cast<const char *>(literal.bytes.data());
  EXPECT_GE(data, decoded.bytes.data());
  EXPECT_LT(data, decoded.bytes.data() + decoded.bytes.size());
}

/// The form and size of a constant of `dims` and element `type` with these bytes.
static std::string formOf(Bytes type, std::initializer_list<int64_t> dims, std::string_view bytes) {
  RawArtifact a = RawArtifact::sample();
  uint64_t element = a.type(RawArtifact::vhlo, type);
  uint64_t tensor = a.type(RawArtifact::vhlo, Bytes().varint(20).signedList(dims).varint(element));
  a.attr(RawArtifact::vhlo, Bytes().varint(15).varint(tensor).blob(bytes));
  std::string encoded = a.encode();
  Result<Module> module = read(std::as_bytes(std::span(encoded)), ImportOptions());
  if (!module.isOk())
    return idOf(*std::move(module).takeStatus().error());
  const Literal &literal = module->literals.back();
  constexpr const char *names[] = {"elements", "splat", "bits"};
  return names[static_cast<int>(literal.form)] + std::string(" ") +
         std::to_string(literal.elementCount);
}

TEST(Reader, TellsSplatsPackedAndUnpackedBooleansApart) {
  Bytes i1 = Bytes().varint(0);
  EXPECT_EQ(formOf(i1, {9}, "\x01\x01"), "bits 9");
  EXPECT_EQ(formOf(i1, {8}, "\x01"), "bits 8");
  EXPECT_EQ(formOf(i1, {8}, "\xFF"), "splat 8");
  EXPECT_EQ(formOf(i1, {20}, std::string_view("\0", 1)), "splat 20");
  EXPECT_EQ(formOf(i1, {9}, "\1\1\1\1\1\1\1\1\1"), "elements 9");
  EXPECT_EQ(formOf(i1, {1}, "\1"), "elements 1");
  EXPECT_EQ(formOf(i1, {0}, ""), "elements 0");
  EXPECT_EQ(formOf(i1, {20}, "\1\1"), "E1032");
}

TEST(Reader, SubByteElementsTakeAByteEach) {
  Bytes i4 = Bytes().varint(10), f4 = Bytes().varint(37), c64 = Bytes().varint(1).varint(0);
  EXPECT_EQ(formOf(i4, {3}, "\1\2\3"), "elements 3");
  EXPECT_EQ(formOf(i4, {4}, "\1\2"), "E1032");
  EXPECT_EQ(formOf(f4, {5}, "\7"), "splat 5");
  EXPECT_EQ(formOf(c64, {1000, 1000}, "12345678"), "splat 1000000");
  EXPECT_EQ(formOf(c64, {2}, "1234"), "E1032");
}

TEST(Reader, ASplatOfManyElementsCostsNothing) {
  EXPECT_EQ(formOf(Bytes().varint(4), {1000000, 1000000}, "abcd"), "splat 1000000000000");
}

TEST(Reader, ReadsRegionsThatUseOuterValues) {
  RawArtifact a = RawArtifact::sample();
  uint64_t ifOp = a.name(RawArtifact::vhlo, "if_v1");
  // Value 0 is the argument, 1 the constant; the branch sees both and numbers its own values from
  // 3.
  Bytes branch = rawRegion(1, {}, {RawArtifact::add(0, 1), RawArtifact::ret(3)});
  Bytes both = Bytes().append(branch).append(branch);
  Bytes op = RawOp{.name = ifOp,
                   .results = {RawArtifact::tensor},
                   .operands = {1},
                   .regionCount = 2,
                   .regions = both}
                 .encode();
  a.setBody(3, {RawArtifact::constant(), op, RawArtifact::ret(2)});
  Decoded decoded = decode(a);
  const Module &m = decoded.module;
  ASSERT_EQ(m.operations.size(), 9u);
  EXPECT_EQ(m.operations[3].end, 8u);
  EXPECT_THAT(m.operandsOf(m.operations[5]), ElementsAre(3)); // the first branch's sum
  EXPECT_THAT(m.operandsOf(m.operations[7]), ElementsAre(4)); // the second branch's
  EXPECT_THAT(m.operandsOf(m.operations[8]), ElementsAre(2)); // the result of if
}

TEST(Reader, TakesInherentAttributesOutOfOldDictionaries) {
  RawArtifact a = RawArtifact::sample();
  a.version = 3;
  a.producer = "StableHLO_v0.12.0";
  auto key = [&](const char *text) {
    return a.attr(RawArtifact::builtin, Bytes().varint(2).varint(a.string(text)));
  };
  auto dictionary = [&](std::initializer_list<uint64_t> pairs) {
    Bytes bytes = Bytes().varint(1).varint(pairs.size() / 2);
    for (uint64_t attr : pairs)
      bytes.varint(attr);
    return static_cast<int>(a.attr(RawArtifact::builtin, bytes));
  };
  using R = RawArtifact;
  int func = dictionary({key("arg_attrs"), R::emptyArray, key("function_type"), R::functionTypeAttr,
                         key("mhlo.extra"), R::emptyArray, key("res_attrs"), R::emptyArray,
                         key("sym_name"), R::mainName, key("sym_visibility"), R::emptyString});
  // Bytecode 3 gives every argument a location.
  Bytes body = Bytes().varint(1).varint(1).flagged(1, true).list({R::tensor}).varint(R::unknown);
  body.byte(0).append(R::ret(0));
  Bytes funcOp = RawOp{.name = R::funcOp,
                       .attributes = func,
                       .regionCount = 1,
                       .isolated = true,
                       .regions = body}
                     .encode();
  a.ir = Bytes().flagged(1, false).append(RawOp{.name = R::moduleOp,
                                                .regionCount = 1,
                                                .isolated = true,
                                                .regions = rawRegion(0, {}, {funcOp})}
                                              .encode());
  Decoded decoded = decode(a);
  const Module &m = decoded.module;
  ASSERT_EQ(m.operations.size(), 3u);
  EXPECT_THAT(
      m.propertiesOf(m.operations[1]),
      ElementsAre(R::emptyArray, R::functionTypeAttr, R::emptyArray, R::mainName, R::emptyString));
  EXPECT_THAT(m.propertiesOf(m.operations[0]), ElementsAre(absent, absent));
}

TEST(Reader, AlignedSectionsAreReadToo) {
  RawArtifact a = RawArtifact::sample();
  Bytes out = a.header();
  out.section(1, a.dialectSection()).section(3, a.entrySizeSection()).section(4, a.ir);
  out.section(0, a.stringSection()).section(8, a.propertySection());
  Bytes content = a.entrySection();
  out.byte(2 | 0x80).varint(content.data.size()).varint(32);
  while (out.data.size() % 32)
    out.byte(0xCB);
  out.append(content);
  EXPECT_TRUE(read(std::as_bytes(std::span(out.data)), ImportOptions()).isOk());
}

TEST(Reader, SmallFloatsOfBuiltinAreReadByNameAndByCode) {
  RawArtifact a = RawArtifact::sample();
  a.types.push_back({RawArtifact::builtin, Bytes().raw("f8E4M3FN").byte(0), /*custom=*/false});
  a.type(RawArtifact::builtin, Bytes().varint(24));
  Decoded decoded = decode(a);
  for (size_t type : {4, 5})
    EXPECT_EQ(decoded.module.types[type].element, numerics::ElementType::f8E4M3FN);
}

TEST(Reader, LocationsHaveLineAndColumnOfBothEnds) {
  RawArtifact a = RawArtifact::sample();
  uint64_t file = a.attr(RawArtifact::builtin, Bytes().varint(2).varint(a.string("train.py")));
  a.attr(RawArtifact::builtin, Bytes().varint(11).varint(file).varint(7).varint(3));
  a.attr(RawArtifact::builtin, Bytes().varint(22).varint(file).list({7, 3, 9}));
  a.attr(RawArtifact::builtin, Bytes().varint(22).varint(file).list({7, 3, 8, 1}));
  Decoded decoded = decode(a);
  const Module &m = decoded.module;
  EXPECT_THAT(m.numbersIn(m.attrs[file + 1].list), ElementsAre(7, 3, 7, 3));
  EXPECT_THAT(m.numbersIn(m.attrs[file + 2].list), ElementsAre(7, 3, 7, 9));
  EXPECT_THAT(m.numbersIn(m.attrs[file + 3].list), ElementsAre(7, 3, 8, 1));
}

TEST(Reader, EarlierTensorShardingsReadLikeTheNewest) {
  RawArtifact a = RawArtifact::sample();
  uint64_t axis = a.attr(RawArtifact::sdy, Bytes().varint(1).varint(a.string("x")).signedVarint(4));
  uint64_t mesh = a.attr(RawArtifact::sdy, Bytes().varint(2).list({axis}).varint(0));
  a.attr(RawArtifact::sdy, Bytes().varint(6).varint(mesh).varint(0).varint(0));
  a.attr(RawArtifact::sdy,
         Bytes().varint(17).varint(mesh).varint(0).varint(0).varint(0).signedVarint(2));
  Decoded decoded = decode(a);
  const Module &m = decoded.module;
  EXPECT_EQ(m.listsIn(m.attrs[mesh + 1].list).size(), 3u);
  EXPECT_EQ(m.attrs[mesh + 1].b, 0u);
  EXPECT_EQ(m.attrs[mesh + 2].b, 2u);
}

TEST(Reader, UseListOrdersAreSkipped) {
  RawArtifact a = RawArtifact::sample();
  Bytes ordered = RawOp{.name = RawArtifact::addOp,
                        .results = {RawArtifact::tensor},
                        .operands = {0, 1},
                        .useListOrder = Bytes().flagged(2, false).varint(1).varint(0)}
                      .encode();
  a.setBody(3, {RawArtifact::constant(), ordered, RawArtifact::ret(2)});
  EXPECT_EQ(decode(a).module.operations.size(), 5u);
}
