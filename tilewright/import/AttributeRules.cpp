#include "tilewright/import/AttributeRules.h"

#include <algorithm>

namespace tilewright {
namespace {

constexpr AttributeRule rules[] = {
#define TILEWRIGHT_ATTRIBUTE_RULE(op, attribute, form, otherwise)                                  \
  {op, attribute, AttributeForm::form, AttributeDefault::otherwise},
#include "tilewright/import/AttributeRules.def"
};

constexpr bool inOrder() {
  for (size_t row = 1; row < std::size(rules); ++row) {
    const AttributeRule &before = rules[row - 1], &here = rules[row];
    if (before.op > here.op || (before.op == here.op && before.name >= here.name))
      return false;
  }
  return true;
}
static_assert(inOrder(), "AttributeRules.def is searched by bisection: keep it sorted");

} // namespace

std::string_view withoutVersion(std::string_view vhloName) {
  return vhloName.substr(0, vhloName.rfind("_v"));
}

std::span<const AttributeRule> attributeRulesOf(std::string_view op) {
  auto [begin, end] = std::ranges::equal_range(rules, op, {}, &AttributeRule::op);
  return std::span(begin, end);
}

const AttributeRule *findAttributeRule(std::string_view op, std::string_view attribute) {
  for (const AttributeRule &rule : attributeRulesOf(op))
    if (rule.name == attribute)
      return &rule;
  return nullptr;
}

} // namespace tilewright
