#include "tilewright/chips/Amd.h"

namespace tilewright::chips {

std::span<const AmdChip> amdChips() {
  static constexpr AmdChip rows[] = {
#define TILEWRIGHT_AMD_CHIP(...) {__VA_ARGS__},
#include "tilewright/chips/AmdChips.def"
  };
  return rows;
}

const AmdRates &ratesOf(const AmdChip &chip) {
  struct Row {
    std::string_view chip;
    AmdRates rates;
  };
  static constexpr Row rows[] = {
#define TILEWRIGHT_AMD_RATES(name, ...) {name, {__VA_ARGS__}},
#include "tilewright/chips/AmdRates.def"
  };
  for (const Row &row : rows)
    if (row.chip == chip.name)
      return row.rates;
  // AmdTest checks that each chip has a row.
  return rows[0].rates;
}

const AmdChip *findAmdChip(std::string_view name) {
  for (const AmdChip &chip : amdChips())
    if (chip.name == name)
      return &chip;
  return nullptr;
}

} // namespace tilewright::chips
