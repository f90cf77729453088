#include "tilewright/chips/Amd.h"

namespace tilewright::chips {

std::span<const AmdChip> amdChips() {
  static constexpr AmdChip rows[] = {
#define TILEWRIGHT_AMD_CHIP(...) {__VA_ARGS__},
#include "tilewright/chips/AmdChips.def"
  };
  return rows;
}

const AmdChip *findAmdChip(std::string_view name) {
  for (const AmdChip &chip : amdChips())
    if (chip.name == name)
      return &chip;
  return nullptr;
}

} // namespace tilewright::chips
