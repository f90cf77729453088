// The table of meanings of vector instructions. Vector.def and Compare.def have the rows.
#include "tilewright/vgpu/amdgcn/execute/Vector.h"

#include "tilewright/vgpu/amdgcn/execute/Arithmetic.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace tilewright::vgpu::amdgcn {

namespace {
template <typename T>
inline constexpr bool isValue = !std::is_same_v<T, bool> && !std::is_same_v<T, Lane>;

/// The parameter `T` of a lane; `source` is the number of the value among the sources.
template <typename T>
inline T parameter(const VectorOperands &operands, unsigned source, unsigned lane) {
  if constexpr (std::is_same_v<T, bool>)
    return operands.maskIn >> lane & 1;
  else if constexpr (std::is_same_v<T, Lane>)
    return Lane{lane};
  else if constexpr (sizeof(T) == 8)
    return fromBits<T>(static_cast<const u64 *>(operands.sources[source])[lane]);
  else
    return fromBits<T>(static_cast<const u32 *>(operands.sources[source])[lane]);
}

template <typename T> inline void store(void *result, unsigned lane, T value) {
  if constexpr (sizeof(T) == 8)
    static_cast<u64 *>(result)[lane] = bitsOf(value);
  else
    static_cast<u32 *>(result)[lane] = static_cast<u32>(bitsOf(value));
}

template <typename T> struct ResultOf {
  using Value = T;
  static constexpr bool hasMask = false;
};
template <typename T> struct ResultOf<WithMask<T>> {
  using Value = T;
  static constexpr bool hasMask = true;
};

/// Turns a function of one lane's values into a meaning.
template <auto function> struct Vector;
template <typename Result, typename... Parameters, Result (*function)(Parameters...)>
struct Vector<function> {
  using Value = typename ResultOf<Result>::Value;

  template <size_t... index>
  static void execute(VectorOperands &operands, std::index_sequence<index...>) {
    // The number of values that precede each parameter.
    constexpr std::array<bool, sizeof...(Parameters)> values = {isValue<Parameters>...};
    constexpr auto place = [values](size_t number) {
      unsigned count = 0;
      for (size_t i = 0; i < number; ++i)
        count += values[i];
      return count;
    };
    for (unsigned lane = 0; lane < laneCount; ++lane) {
      const Result result = function(parameter<Parameters>(operands, place(index), lane)...);
      if constexpr (std::is_same_v<Result, bool>) {
        operands.maskOut |= LaneMask(result) << lane;
      } else if constexpr (ResultOf<Result>::hasMask) {
        store(operands.result, lane, result.value);
        operands.maskOut |= LaneMask(result.mask) << lane;
      } else {
        store(operands.result, lane, result);
      }
    }
  }
  static void compute(VectorOperands &operands) {
    execute(operands, std::make_index_sequence<sizeof...(Parameters)>());
  }
  static constexpr VectorMeaning meaning(std::string_view name) {
    const bool isComparison = std::is_same_v<Result, bool>;
    return {.name = name,
            .compute = compute,
            .sources = (0 + ... + uint8_t(isValue<Parameters>)),
            .resultBits = isComparison ? uint8_t(1) : uint8_t(sizeof(Value) * 8),
            .resultIsFloat = isFloat<Value>,
            .readsMask = (false || ... || std::is_same_v<Parameters, bool>),
            .writesMask = isComparison || ResultOf<Result>::hasMask};
  }
};
} // namespace

#define VECTOR_LIST(...) __VA_ARGS__
#define VECTOR(name, result, parameters, ...)                                                      \
  static inline result name(VECTOR_LIST parameters) { return __VA_ARGS__; }
#define VECTOR_BODY(name, result, parameters, ...)                                                 \
  static inline result name(VECTOR_LIST parameters) __VA_ARGS__
#include "tilewright/vgpu/amdgcn/execute/Compare.def"
#include "tilewright/vgpu/amdgcn/execute/Vector.def"
#undef VECTOR
#undef VECTOR_BODY

static constexpr VectorMeaning meanings[] = {
#define VECTOR(name, ...) Vector<name>::meaning(#name),
#define VECTOR_BODY(name, ...) Vector<name>::meaning(#name),
#include "tilewright/vgpu/amdgcn/execute/Compare.def"
#include "tilewright/vgpu/amdgcn/execute/Vector.def"
#undef VECTOR
#undef VECTOR_BODY
};

const VectorMeaning *findVectorMeaning(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const VectorMeaning *> result;
    for (const VectorMeaning &meaning : meanings)
      result.emplace(meaning.name, &meaning);
    return result;
  }();
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

} // namespace tilewright::vgpu::amdgcn
