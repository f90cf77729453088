#include "tilewright/import/bytecode/Module.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright::bytecode;
using testing::ElementsAre;

TEST(OpTable, HoldsAllOperationsOfVhlo) {
  EXPECT_EQ(vhloOpCount, 145u);
  for (const OpRow &row : allOps()) {
    EXPECT_EQ(findOp(row.dialect, row.name), &row) << row.fullName();
    EXPECT_LE(row.since, row.until) << row.fullName();
    EXPECT_TRUE(std::is_sorted(row.attributes.begin(), row.attributes.end())) << row.fullName();
  }
}

TEST(OpTable, FormsOfOneOperationShareNoVersion) {
  for (const OpRow &row : allOps()) {
    if (!row.name.ends_with("_v2"))
      continue;
    const OpRow *older =
        findOp(row.dialect, std::string(row.name.substr(0, row.name.size() - 1)) + "1");
    ASSERT_NE(older, nullptr) << row.fullName();
    EXPECT_LT(older->until, row.since) << row.fullName();
  }
}

TEST(OpTable, NamesOperandsAttributesRegionsAndResults) {
  const OpRow &row = rowOf(Op::func_v1);
  EXPECT_EQ(row.fullName(), "vhlo.func_v1");
  EXPECT_THAT(row.attributes,
              ElementsAre("arg_attrs", "function_type", "res_attrs", "sym_name", "sym_visibility"));
  EXPECT_EQ(row.attributeIndex("sym_name"), 3);
  EXPECT_EQ(row.attributeIndex("name"), -1);
  EXPECT_THAT(row.regions.names, ElementsAre("body"));
}

TEST(OpTable, SeveralListsOfOperandsHaveOneLength) {
  const Signature &scatter = rowOf(Op::scatter_v2).operands; // *inputs scatter_indices *updates
  EXPECT_TRUE(scatter.accepts(1));
  EXPECT_FALSE(scatter.accepts(2));
  EXPECT_TRUE(scatter.accepts(5));
  EXPECT_TRUE(rowOf(Op::add_v1).operands.accepts(2));
  EXPECT_FALSE(rowOf(Op::add_v1).operands.accepts(3));
  EXPECT_FALSE(rowOf(Op::dynamic_update_slice_v1).operands.accepts(1));
}

TEST(Version, ReadsWhatProducersWrite) {
  EXPECT_EQ(Version::parse("1.20.0"), (Version{1, 20}));
  EXPECT_EQ(Version::parse("0.9"), (Version{0, 9}));
  for (const char *bad : {"", "1", "1.", "1.2.3.4", "1.-2", "1.2 ", "99999.0", "v1.0"})
    EXPECT_EQ(Version::parse(bad), std::nullopt) << bad;
}
