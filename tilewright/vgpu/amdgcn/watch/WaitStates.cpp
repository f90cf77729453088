#include "tilewright/vgpu/amdgcn/watch/WaitStates.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/amdgcn/execute/Memory.h"
#include "tilewright/vgpu/amdgcn/execute/Vector.h"
#include "tilewright/vgpu/amdgcn/watch/Watch.h"

#include <algorithm>

namespace tilewright::vgpu::amdgcn {

using numerics::ElementType;

// -- The table

namespace {
enum Class : uint32_t {
  valu = 1 << 0, // without matrix instructions and dot products
  dot = 1 << 1,
  anyValu = valu | dot,
  xdl = 1 << 2,
  single = 1 << 3,   // matrices of f32
  double16 = 1 << 4, // 16x16 matrices of f64
  double4 = 1 << 5,
  notXdl = single | double16 | double4,
  matrix = xdl | notXdl,
  twoPass = 1 << 6, // a matrix instruction
  vectorMemory = 1 << 7,
  localMemory = 1 << 8,
  memory = vectorMemory | localMemory,
  loadToLds = 1 << 9,
  wideStore = 1 << 10,
  dpp = 1 << 11,
  readLane = 1 << 12,
  writeLane = 1 << 13,
  permuteLanes = 1 << 14,
  divideFmas = 1 << 15,
  transcendental = 1 << 16,
  notTranscendental = 1 << 17, // of the vector unit
  partialResult = 1 << 18,
  scalarUnit = 1 << 19,
};

enum class Touch : uint8_t {
  resultToSource,
  resultToSameC,  // all of the result is C
  resultToOtherC, // the result and C overlap otherwise
  resultToFactor,
  resultToResult,
  cToResult,
  dataToResult,
  scalarToSource,
  scalarToLaneSelect,
  execMask,
  m0,
};

struct Rule {
  uint32_t first, second;
  Touch touch;
  int passes, extra[2]; // gfx942, gfx950

  int neededAfter(const Op &op, const HazardTraits &traits) const {
    return passes * traits.passes + extra[op.chip == Chip::gfx950];
  }
};

constexpr Rule rules[] = {
#define WAIT_STATES(first, second, touch, passes, gfx942, gfx950)                                  \
  {first, second, Touch::touch, passes, {gfx942, gfx950}},
#include "tilewright/vgpu/amdgcn/watch/WaitStates.def"
#undef WAIT_STATES
};

/// The largest number in the table: 16 passes and 4.
constexpr uint64_t maxWaitStates = 20;
} // namespace

// -- Classes

/// How long a matrix instruction occupies its unit: a pass is 4 clocks.
static uint8_t passesOf(const Op &op) {
  const MatrixShape &shape = op.matrix;
  const ElementType factor = shape.factors[0];
  if (factor == ElementType::f64)
    return shape.size == 4 ? 4 : op.chip == Chip::gfx950 ? 16 : 8;
  if (shape.size == 4)
    return 2;
  const auto passes = static_cast<uint8_t>(shape.size / 4); // of 16-bit and smaller types
  const bool isF8f6f4 = op.instruction.row->name.ends_with("f8f6f4");
  const bool hasBytes =
      numerics::bitWidth(shape.factors[0]) == 8 || numerics::bitWidth(shape.factors[1]) == 8;
  const bool isDoubled = factor == ElementType::f32 || shape.blocks > 1 || (isF8f6f4 && hasBytes);
  return isDoubled ? static_cast<uint8_t>(2 * passes) : passes;
}

static uint32_t classesOfMatrix(const Op &op) {
  const ElementType factor = op.matrix.factors[0];
  uint32_t classes = factor == ElementType::f64   ? (op.matrix.size == 16 ? double16 : double4)
                     : factor == ElementType::f32 ? single
                                                  : xdl;
  if (passesOf(op) == 2)
    classes |= twoPass;
  return classes | notTranscendental;
}

static uint32_t classesOfValu(const Op &op) {
  const Instruction &instruction = op.instruction;
  const std::string_view name = instruction.row->name;
  uint32_t classes = name.starts_with("v_dot") ? dot : valu;
  bool isTranscendental = false;
  for (const std::string_view prefix :
       {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"})
    isTranscendental |= name.starts_with(prefix);
  classes |= isTranscendental ? transcendental : notTranscendental;
  if (instruction.form == Form::dpp)
    classes |= dpp;
  if (name.starts_with("v_readlane") || name.starts_with("v_readfirstlane"))
    classes |= readLane;
  if (name.starts_with("v_writelane"))
    classes |= writeLane;
  if (name.starts_with("v_permlane"))
    classes |= permuteLanes;
  if (name.starts_with("v_div_fmas"))
    classes |= divideFmas;
  constexpr unsigned wholeDword = 6;
  const bool isPart =
      instruction.form == Form::sdwa
          ? instruction.sdwa.destination != wholeDword
          : instruction.row->encoding == Encoding::vop3 && (instruction.opSel & 8) != 0;
  return isPart ? classes | partialResult : classes;
}

static uint32_t classesOfMemory(const Op &op) {
  const Row &row = *op.instruction.row;
  if (row.encoding == Encoding::ds)
    return localMemory;
  uint32_t classes = vectorMemory;
  if (!op.meaning.memory || row.has(flags::bare))
    return classes;
  if (op.meaning.memory->kind == MemoryKind::loadToLds)
    classes |= loadToLds;
  // If the offset of a buffer is in a register, the data are read in time.
  const bool isSafe = row.encoding == Encoding::mubuf && op.sources[3].kind == SlotKind::scalar;
  if (op.meaning.memory->kind == MemoryKind::store && op.meaning.memory->bytes > 8 && !isSafe)
    classes |= wideStore;
  return classes;
}

static HazardTraits traitsOfValu(const Op &op) {
  HazardTraits traits;
  const bool isMatrix = op.matrix.size != 0;
  traits.classes = isMatrix ? classesOfMatrix(op) : classesOfValu(op);
  traits.writesExec = op.writesExec;
  if (op.destination.kind == SlotKind::vector)
    traits.result = op.destination;
  else
    traits.scalarResult = op.destination;
  if (op.scalarDestination.kind == SlotKind::scalar)
    traits.scalarResult = op.scalarDestination;
  std::copy_n(op.sources.begin(), op.sourceCount, traits.sources.begin());
  if (isMatrix) {
    traits.passes = passesOf(op);
    traits.c = op.sources[2];
    return traits;
  }
  Slot &further = traits.sources.back();
  const std::string_view name = op.instruction.row->name;
  const bool isVector = op.meaning.vector != nullptr && !op.instruction.row->has(flags::bitop);
  if (name.starts_with("v_permlane") && name.ends_with("swap_b32"))
    further = op.destination;
  else if ((traits.classes & (readLane | writeLane)) != 0)
    traits.laneSelect = op.sources[1];
  else if (isVector && op.meaning.vector->readsMask && !op.hasMaskOperand)
    further = {.kind = SlotKind::scalar, .dwords = 2, .index = vccSlot};
  else if (isVector && op.meaning.vector->sources > op.sourceCount)
    further = op.destination;
  return traits;
}

static HazardTraits traitsOfMemory(const Op &op) {
  HazardTraits traits;
  traits.classes = classesOfMemory(op);
  const bool isBuffer = op.instruction.row->encoding == Encoding::mubuf;
  for (unsigned i = 0; i < op.sources.size(); ++i)
    if (!(isBuffer && i == 1 && op.writesRegisters &&
          op.meaning.memory->kind == MemoryKind::load)) // the result
      traits.sources[i] = op.sources[i];
  traits.data = op.sources[1];
  return traits;
}

HazardTraits HazardTraits::of(const Op &op) {
  HazardTraits traits;
  switch (op.instruction.row->encoding) {
  case Encoding::vop1:
  case Encoding::vop2:
  case Encoding::vopc:
  case Encoding::vop3:
  case Encoding::vop3p:
    return traitsOfValu(op);
  case Encoding::ds:
  case Encoding::flat:
  case Encoding::mubuf:
  case Encoding::mtbuf:
    return traitsOfMemory(op);
  case Encoding::smem:
    return traits;
  case Encoding::sopp:
    if (op.instruction.row->name == "s_nop")
      traits.waitStates = static_cast<uint16_t>((op.sources[0].value & 15) + 1);
    return traits;
  default:
    traits.classes = scalarUnit;
    traits.writesM0 = op.destination.kind == SlotKind::scalar && op.destination.index == m0Slot;
    return traits;
  }
}

// -- Checking

static bool overlap(const Slot &a, const Slot &b) {
  return a.kind == b.kind && (a.kind == SlotKind::vector || a.kind == SlotKind::scalar) &&
         a.index < b.index + b.dwords && b.index < a.index + a.dwords;
}
static bool isSame(const Slot &a, const Slot &b) {
  return a.kind == b.kind && a.index == b.index && a.dwords == b.dwords;
}

bool Issued::isReadBy(const Slot &source) const {
  if (!overlap(traits->result, source))
    return false;
  for (unsigned i = 0; i < traits->result.dwords; ++i) {
    const unsigned index = traits->result.index + i;
    if (!(overwritten >> i & 1) && index >= source.index && index < source.index + source.dwords)
      return true;
  }
  return false;
}

void Issued::overwrite(const Slot &result) {
  if (overlap(traits->result, result))
    for (unsigned i = 0; i < traits->result.dwords; ++i)
      if (const unsigned index = traits->result.index + i;
          index >= result.index && index < result.index + result.dwords)
        overwritten |= uint32_t(1) << i;
}

static bool touches(const Issued &past, const HazardTraits &second, Touch touch) {
  const HazardTraits &first = *past.traits;
  auto reads = [&](const Slot &slot) {
    for (const Slot &source : second.sources)
      if (overlap(slot, source))
        return true;
    return false;
  };
  switch (touch) {
  case Touch::resultToSource:
    return std::any_of(second.sources.begin(), second.sources.end(),
                       [&](const Slot &source) { return past.isReadBy(source); });
  case Touch::resultToSameC:
    return past.isReadBy(second.c) && isSame(first.result, second.c);
  case Touch::resultToOtherC:
    return past.isReadBy(second.c) && !isSame(first.result, second.c);
  case Touch::resultToFactor:
    for (unsigned i = 0; i < second.sources.size(); ++i)
      if (i != 2 && past.isReadBy(second.sources[i]))
        return true;
    return false;
  case Touch::resultToResult:
    return overlap(first.result, second.result);
  case Touch::cToResult:
    return overlap(first.c, second.result);
  case Touch::dataToResult:
    return overlap(first.data, second.result);
  case Touch::scalarToSource:
    return reads(first.scalarResult);
  case Touch::scalarToLaneSelect:
    return overlap(first.scalarResult, second.laneSelect);
  case Touch::execMask:
    return first.writesExec;
  case Touch::m0:
    return first.writesM0;
  }
  return false;
}

static std::string_view wordsOf(Touch touch) {
  switch (touch) {
  case Touch::resultToSource:
  case Touch::resultToFactor:
    return "reads a result of";
  case Touch::resultToSameC:
  case Touch::resultToOtherC:
    return "reads, as C, a result of";
  case Touch::resultToResult:
    return "writes a register that is also written by";
  case Touch::cToResult:
    return "writes a register that is still read, as C, by";
  case Touch::dataToResult:
    return "writes a register that is still read by";
  case Touch::scalarToSource:
  case Touch::scalarToLaneSelect:
    return "reads a scalar register written by";
  case Touch::execMask:
    return "uses EXEC, written by";
  case Touch::m0:
    return "uses M0, written by";
  }
  return "";
}

void WaitStates::issue(WaveWatch &watch, const Op &op, const HazardTraits &traits) {
  while (!past.empty() && time - past.front().time > maxWaitStates)
    past.pop_front();
  for (const Issued &earlier : past) {
    const auto has = static_cast<int>(time - earlier.time - 1);
    for (const Rule &rule : rules) {
      if ((rule.first & earlier.traits->classes) == 0 || (rule.second & traits.classes) == 0)
        continue;
      const int needed = rule.neededAfter(*earlier.op, *earlier.traits);
      if (has >= needed || !touches(earlier, traits, rule.touch))
        continue;
      watch.reportHazard(op, machine::HazardKind::waitStates, earlier.op,
                         concat("'", toText(op.instruction), "' ", wordsOf(rule.touch), " '",
                                toText(earlier.op->instruction), "': needs ", needed,
                                " wait states between them, has ", has),
                         concat("put s_nop ", needed - has - 1, " before it"));
      break;
    }
  }
  if (traits.classes & matrix)
    for (Issued &earlier : past)
      earlier.overwrite(traits.result);
  if (traits.classes != 0)
    past.push_back({&op, &traits, time});
  time += traits.waitStates;
}

} // namespace tilewright::vgpu::amdgcn
