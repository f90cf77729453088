#include "tilewright/import/AttributeRules.h"

#include "tilewright/import/bytecode/OpTable.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

using namespace tilewright;

TEST(AttributeRules, EveryAttributeOfEveryVhloOperationHasARule) {
  for (const bytecode::OpRow &row : bytecode::allOps()) {
    if (row.dialect != bytecode::Dialect::vhlo)
      continue;
    for (std::string_view attribute : row.attributes)
      EXPECT_NE(findAttributeRule(withoutVersion(row.name), attribute), nullptr)
          << row.name << " " << attribute;
  }
}

TEST(AttributeRules, NoRuleIsAboutAnAttributeThatDoesNotExist) {
  std::set<std::string> known;
  for (const bytecode::OpRow &row : bytecode::allOps())
    for (std::string_view attribute : row.attributes)
      known.insert(std::string(withoutVersion(row.name)) + " " + std::string(attribute));
  for (const bytecode::OpRow &row : bytecode::allOps())
    for (const AttributeRule &rule : attributeRulesOf(withoutVersion(row.name)))
      EXPECT_TRUE(known.count(std::string(rule.op) + " " + std::string(rule.name)))
          << rule.op << " " << rule.name;
}

TEST(AttributeRules, AnAttributeThatTheFirstFormLacksHasADefault) {
  for (const bytecode::OpRow &row : bytecode::allOps()) {
    if (row.dialect != bytecode::Dialect::vhlo)
      continue;
    for (const AttributeRule &rule : attributeRulesOf(withoutVersion(row.name)))
      if (row.attributeIndex(rule.name) < 0)
        EXPECT_NE(rule.otherwise, AttributeDefault::none) << row.name << " " << rule.name;
  }
}

TEST(AttributeRules, TheVersionIsTheLastPartOfAName) {
  EXPECT_EQ(withoutVersion("dot_general_v2"), "dot_general");
  EXPECT_EQ(withoutVersion("cross-replica-sum_v1"), "cross-replica-sum");
}
