// Loads and stores of host vectors at addresses that need not be aligned. Only handlers include it.
#ifndef TILEWRIGHT_VGPU_MACHINE_HANDLERS_VECTORS_H
#define TILEWRIGHT_VGPU_MACHINE_HANDLERS_VECTORS_H

#include "tilewright/vgpu/machine/handlers/Lanes.h"

namespace tilewright::vgpu::machine::VGPU_ISA {

template <typename V, typename T> VGPU_INLINE V loadAs(const T *from) {
  V value;
  std::memcpy(&value, from, sizeof(V));
  return value;
}
template <typename V, typename T> VGPU_INLINE void storeAs(T *to, V value) {
  std::memcpy(to, &value, sizeof(V));
}

} // namespace tilewright::vgpu::machine::VGPU_ISA

#endif // TILEWRIGHT_VGPU_MACHINE_HANDLERS_VECTORS_H
