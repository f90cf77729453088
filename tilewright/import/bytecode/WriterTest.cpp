#include "tilewright/import/bytecode/Writer.h"

#include "tilewright/import/bytecode/Reader.h"
#include "tilewright/import/bytecode/testing/RawArtifact.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::bytecode;
using testing::ElementsAre;
using R = RawArtifact;

static Module readOrFail(std::string_view bytes) {
  Result<Module> module = read(std::as_bytes(std::span(bytes)), ImportOptions());
  EXPECT_TRUE(module.isOk()) << std::move(module).takeStatus().toString();
  return module.isOk() ? *std::move(module) : Module();
}

TEST(Writer, WhatIsWrittenReadsBack) {
  std::string first = R::sample().encode();
  Module module = readOrFail(first);
  std::string second = *write(module);
  Module again = readOrFail(second);
  EXPECT_EQ(again.strings, module.strings);
  EXPECT_EQ(again.valueTypes, module.valueTypes);
  EXPECT_EQ(again.operands, module.operands);
  EXPECT_EQ(*write(again), second);
}

TEST(Writer, ValuesMayBeNumberedInAnyOrder) {
  std::string bytes = R::sample().encode();
  Module module = readOrFail(bytes);
  // Renumber: argument 2, constant 0, sum 1.
  module.regions[1].firstArgument = 2;
  module.operations[2].firstResult = 0;
  module.operations[3].firstResult = 1;
  module.operands = {2, 0, 1};
  std::string written = *write(module);
  Module again = readOrFail(written);
  EXPECT_THAT(again.operands, ElementsAre(0, 1, 2));
}

TEST(Writer, OldFormsGetTheirPropertiesInDictionaries) {
  std::string bytes = R::sample().encode();
  for (unsigned version : {0, 1, 3, 4}) {
    Module module = readOrFail(bytes);
    module.producer = {0, 14};
    module.bytecodeVersion = version;
    std::string written = *write(module);
    Module again = readOrFail(written);
    ASSERT_EQ(again.operations.size(), 5u) << version;
    std::span<const AttrId> properties = again.propertiesOf(again.operations[1]);
    ASSERT_EQ(properties.size(), 5u);
    EXPECT_EQ(again.textOf(properties[3]), "main");
    // Writing again keeps the dictionary that already has the properties.
    EXPECT_EQ(*write(again), written) << version;
  }
}

TEST(Writer, NamesThatTheModuleLacksAreAdded) {
  std::string bytes = R::sample().encode();
  Module module = readOrFail(bytes);
  for (std::string_view &text : module.strings)
    if (text != "main")
      text = "";
  std::string written = *write(module);
  EXPECT_EQ(readOrFail(written).operations.size(), 5u);
}

TEST(Writer, SmallFloatsOfBuiltinAreWrittenByName) {
  R artifact = R::sample();
  artifact.type(R::builtin, Bytes().varint(24));
  std::string bytes = artifact.encode();
  std::string written = *write(readOrFail(bytes));
  EXPECT_NE(written.find("f8E4M3FN"), std::string::npos);
  EXPECT_EQ(readOrFail(written).types.back().element, numerics::ElementType::f8E4M3FN);
}

TEST(Writer, ATypeThatItsDialectCannotSpellIsRefused) {
  std::string bytes = R::sample().encode();
  Module module = readOrFail(bytes);
  module.types[0].dialect = Dialect::sdy;
  EXPECT_EQ(write(module).takeStatus().code(), Code::invalidArgument);
}
