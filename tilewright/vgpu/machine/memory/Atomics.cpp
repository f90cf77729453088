#include "tilewright/vgpu/machine/Conversion.h"
#include "tilewright/vgpu/machine/decode/MemoryForms.h"

#include <bit>
#include <cmath>
#include <mutex>

namespace tilewright::vgpu::machine {

using ptx::Modifier;

template <typename T> static T combineIntegers(AtomicOperation operation, T old, T operand) {
  using U = std::make_unsigned_t<T>;
  switch (operation) {
  case AtomicOperation::add:
    return static_cast<T>(static_cast<U>(old) + static_cast<U>(operand));
  case AtomicOperation::min:
    return operand < old ? operand : old;
  case AtomicOperation::max:
    return operand > old ? operand : old;
  case AtomicOperation::inc:
    return old >= operand ? T(0) : static_cast<T>(old + 1);
  case AtomicOperation::dec:
    return old == 0 || old > operand ? operand : static_cast<T>(old - 1);
  case AtomicOperation::bitAnd:
    return old & operand;
  case AtomicOperation::bitOr:
    return old | operand;
  case AtomicOperation::bitXor:
    return old ^ operand;
  default:
    return operand;
  }
}

/// Combines f16 or bf16 values in f32. Rounding the f32 sum to f16 or bf16 gives the correctly
/// rounded result, because f32 is wide enough.
static uint64_t combineHalf(AtomicOperation operation, Modifier type, uint64_t old,
                            uint64_t operand) {
  const auto a = static_cast<float>(valueOf(type, old));
  const auto b = static_cast<float>(valueOf(type, operand));
  float result = 0;
  if (operation == AtomicOperation::add)
    result = a + b;
  else if (std::isnan(a) || std::isnan(b))
    result = std::isnan(a) ? b : a;
  else if (a == b)
    return operation == AtomicOperation::min ? old | operand : old & operand;
  else
    result = (operation == AtomicOperation::min) == (a < b) ? a : b;
  ConversionForm form;
  form.from = Modifier::f32;
  form.to = type;
  return convert(form, std::bit_cast<uint32_t>(result));
}

uint64_t combine(const AtomicForm &form, uint64_t old, uint64_t operand) {
  const AtomicOperation operation = form.operation;
  if (operation == AtomicOperation::exchange)
    return operand;
  switch (form.type) {
  case AtomicType::u32:
    return combineIntegers<uint32_t>(operation, static_cast<uint32_t>(old),
                                     static_cast<uint32_t>(operand));
  case AtomicType::s32:
    return static_cast<uint32_t>(combineIntegers<int32_t>(operation, static_cast<int32_t>(old),
                                                          static_cast<int32_t>(operand)));
  case AtomicType::u64:
    return combineIntegers<uint64_t>(operation, old, operand);
  case AtomicType::s64:
    return static_cast<uint64_t>(combineIntegers<int64_t>(operation, static_cast<int64_t>(old),
                                                          static_cast<int64_t>(operand)));
  case AtomicType::f32: {
    // Physical GPUs flush subnormals in atom.add.f32 on global memory, although the instruction has
    // no .ftz. The virtual GPU does not flush them.
    const float sum = std::bit_cast<float>(static_cast<uint32_t>(old)) +
                      std::bit_cast<float>(static_cast<uint32_t>(operand));
    return std::isnan(sum) ? 0x7fffffffu : std::bit_cast<uint32_t>(sum);
  }
  case AtomicType::f64:
    return std::bit_cast<uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(operand));
  case AtomicType::f16:
    return combineHalf(operation, Modifier::f16, old & 0xffff, operand & 0xffff);
  case AtomicType::bf16:
    return combineHalf(operation, Modifier::bf16, old & 0xffff, operand & 0xffff);
  case AtomicType::f16x2:
    return combineHalf(operation, Modifier::f16, old >> 16 & 0xffff, operand >> 16 & 0xffff) << 16 |
           combineHalf(operation, Modifier::f16, old & 0xffff, operand & 0xffff);
  case AtomicType::bf16x2:
    return combineHalf(operation, Modifier::bf16, old >> 16 & 0xffff, operand >> 16 & 0xffff)
               << 16 |
           combineHalf(operation, Modifier::bf16, old & 0xffff, operand & 0xffff);
  default:
    return operand;
  }
}

template <typename T>
static uint64_t applyTo(const AtomicForm &form, void *where, uint64_t operand, uint64_t comparand) {
  auto *word = static_cast<T *>(where);
  if (form.operation == AtomicOperation::cas) {
    T expected = static_cast<T>(comparand);
    __atomic_compare_exchange_n(word, &expected, static_cast<T>(operand), false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    return expected;
  }
  if (form.operation == AtomicOperation::add && form.type <= AtomicType::s64)
    return __atomic_fetch_add(word, static_cast<T>(operand), __ATOMIC_SEQ_CST);
  T old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &old, static_cast<T>(combine(form, old, operand)), true,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
    ;
  return old;
}

uint64_t atomicApply(const AtomicForm &form, void *where, uint64_t operand, uint64_t comparand) {
  switch (form.bytes) {
  case 2:
    return applyTo<uint16_t>(form, where, operand, comparand);
  case 4:
    return applyTo<uint32_t>(form, where, operand, comparand);
  default:
    return applyTo<uint64_t>(form, where, operand, comparand);
  }
}

Wide128 atomicApply128(const AtomicForm &form, void *where, Wide128 operand, Wide128 comparand) {
  // One lock for all addresses: only these two operations access 128 bits atomically. A concurrent
  // narrower atomic to the same memory is a race in the program.
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  auto *word = static_cast<Wide128 *>(where);
  const Wide128 old = *word;
  if (form.operation == AtomicOperation::exchange ||
      (old.low == comparand.low && old.high == comparand.high))
    *word = operand;
  return old;
}

} // namespace tilewright::vgpu::machine
