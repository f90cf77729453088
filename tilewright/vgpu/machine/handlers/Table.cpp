#include "tilewright/vgpu/machine/handlers/Lanes.h"

#include <algorithm>
#include <array>

namespace tilewright::vgpu::machine::VGPU_ISA {

extern const Run integerHandlers[], bitsHandlers[], floatHandlers[], convertHandlers[],
    memoryHandlers[], addressHandlers[], controlHandlers[];

#define VGPU_OP(name, ...) +1
static constexpr size_t integerCount = 0
#include "tilewright/vgpu/machine/handlers/Integer.def"
    ;
static constexpr size_t bitsCount = 0
#include "tilewright/vgpu/machine/handlers/Bits.def"
    ;
static constexpr size_t floatCount = 0
#include "tilewright/vgpu/machine/handlers/Float.def"
    ;
static constexpr size_t convertCount = 0
#include "tilewright/vgpu/machine/handlers/Convert.def"
    ;
static constexpr size_t memoryCount = 0
#include "tilewright/vgpu/machine/handlers/Memory.def"
    ;
static constexpr size_t addressCount = 0
#include "tilewright/vgpu/machine/handlers/Address.def"
    ;
static constexpr size_t controlCount = 0
#include "tilewright/vgpu/machine/handlers/Control.def"
    ;
#undef VGPU_OP

/// All handlers in the order of Operation.
const Run *allHandlers() {
  static const auto table = [] {
    std::array<Run, size_t(Operation::count)> all{};
    Run *next = all.data();
    next = std::copy_n(integerHandlers, integerCount, next);
    next = std::copy_n(bitsHandlers, bitsCount, next);
    next = std::copy_n(floatHandlers, floatCount, next);
    next = std::copy_n(convertHandlers, convertCount, next);
    next = std::copy_n(memoryHandlers, memoryCount, next);
    next = std::copy_n(addressHandlers, addressCount, next);
    std::copy_n(controlHandlers, controlCount, next);
    return all;
  }();
  return table.data();
}

} // namespace tilewright::vgpu::machine::VGPU_ISA
