// The scalar unit: SOP1, SOP2, SOPK and SOPC. Scalar.def has the meanings.
#include "tilewright/vgpu/amdgcn/execute/Op.h"
#include "tilewright/vgpu/amdgcn/execute/Types.h"

#include <algorithm>
#include <utility>

namespace tilewright::vgpu::amdgcn {

struct ScalarMeaning {
  std::string_view name;
  Handler run;
  unsigned parameters;
};

/// `width` bits of `value` from `low` on.
static u64 extractBits(u64 value, unsigned low, unsigned width, bool isSigned) {
  if (width == 0)
    return 0;
  width = std::min(width, 64 - low);
  const u64 shifted = value << (64 - low - width);
  return isSigned ? u64(i64(shifted) >> (64 - width)) : shifted >> (64 - width);
}

namespace {
/// Turns a function of Scalar.def into a handler.
template <auto function> struct Scalar;
template <typename Result, typename... Parameters,
          Result (*function)(bool &, LaneMask &, Parameters...)>
struct Scalar<function> {
  static constexpr unsigned parameters = sizeof...(Parameters);

  static void run(Wave &wave, const Op &op) {
    execute(wave, op, std::make_index_sequence<parameters>());
  }

  template <size_t... index>
  static void execute(Wave &wave, const Op &op, std::index_sequence<index...>) {
    // There is one parameter more than there are sources: the first one is the destination.
    const size_t first = op.sourceCount < parameters ? 1 : 0;
    auto source = [&](size_t number) {
      return number < first ? readScalar(wave, op.destination)
                            : readScalar(wave, op.sources[number - first]);
    };
    LaneMask exec = wave.exec();
    const LaneMask old = exec;
    if constexpr (std::is_void_v<Result>) {
      function(wave.scc, exec, fromBits<Parameters>(source(index))...);
    } else {
      const Result result = function(wave.scc, exec, fromBits<Parameters>(source(index))...);
      writeScalar(wave, op.destination, bitsOf(result));
    }
    if (exec != old)
      wave.setScalar64(execSlot, exec);
  }
};
} // namespace

#define SCALAR_LIST(...) __VA_ARGS__
#define SCALAR(name, result, parameters, ...)                                                      \
  static result name([[maybe_unused]] bool &scc, [[maybe_unused]] LaneMask &exec,                  \
                     SCALAR_LIST parameters) __VA_ARGS__
#include "tilewright/vgpu/amdgcn/execute/Scalar.def"
#undef SCALAR
#undef SCALAR_LIST

static constexpr ScalarMeaning meanings[] = {
#define SCALAR(name, ...) {#name, Scalar<name>::run, Scalar<name>::parameters},
#include "tilewright/vgpu/amdgcn/execute/Scalar.def"
#undef SCALAR
};

bool chooseScalar(Op &op) {
  const auto found =
      std::find_if(std::begin(meanings), std::end(meanings), [&](const ScalarMeaning &meaning) {
        return meaning.name == op.instruction.row->name;
      });
  if (found == std::end(meanings))
    return false;
  // A larger difference would be a mistake in the table.
  if (found->parameters < op.sourceCount || found->parameters > op.sourceCount + 1u)
    return false;
  op.run = found->run;
  return true;
}

} // namespace tilewright::vgpu::amdgcn
