#include "tilewright/vgpu/machine/decode/RegisterSlots.h"

#include "tilewright/vgpu/machine/decode/Decoder.h"

#include <algorithm>
#include <map>

namespace tilewright::vgpu::machine {

using ptx::Handler;
using ptx::noIndex;

namespace {

/// A set of registers.
class Bits {
public:
  explicit Bits(size_t count) : words((count + 63) / 64) {}
  bool test(size_t i) const { return words[i / 64] >> (i % 64) & 1; }
  void set(size_t i) { words[i / 64] |= uint64_t(1) << (i % 64); }
  /// Adds the elements of `added` that are not in `removed`; returns whether any was new.
  bool add(const Bits &added, const Bits *removed = nullptr) {
    uint64_t fresh = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      const uint64_t more = added.words[i] & ~(removed ? removed->words[i] : 0) & ~words[i];
      words[i] |= more;
      fresh |= more;
    }
    return fresh != 0;
  }

private:
  std::vector<uint64_t> words;
};

struct Block {
  size_t begin, end; // instructions
  std::vector<size_t> next;
  Bits reads, writes, liveIn, liveOut;
};

class Liveness {
public:
  explicit Liveness(const ptx::Function &function)
      : function(function), first(function.registers.size(), SIZE_MAX),
        last(function.registers.size(), 0) {
    cut();
    for (Block &block : blocks)
      scan(block);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = blocks.size(); i-- > 0;) {
        Block &block = blocks[i];
        for (size_t next : block.next)
          block.liveOut.add(blocks[next].liveIn);
        changed |= block.liveIn.add(block.reads);
        changed |= block.liveIn.add(block.liveOut, &block.writes);
      }
    }
    for (const Block &block : blocks)
      for (size_t reg = 0; reg < first.size(); ++reg) {
        if (block.liveIn.test(reg))
          extend(reg, block.begin);
        if (block.liveOut.test(reg))
          extend(reg, block.end);
      }
  }

  /// The live interval of each register: its first and last instruction.
  std::vector<size_t> firstOf() const { return first; }
  std::vector<size_t> lastOf() const { return last; }

private:
  void extend(size_t reg, size_t at) {
    first[reg] = std::min(first[reg], at);
    last[reg] = std::max(last[reg], at);
  }

  size_t targetOf(uint32_t label) const { return function.labels[label].instruction; }

  /// Splits the function into basic blocks, which begin at branch targets and after branches.
  void cut() {
    const size_t count = function.instructions.size();
    std::vector<bool> begins(count + 1, false);
    begins[0] = true;
    auto forTargets = [&](const Instruction &one, auto body) {
      for (const Operand &operand : function.operandsOf(one)) {
        if (operand.kind == OperandKind::label)
          body(targetOf(operand.index));
        if (operand.kind == OperandKind::labels)
          for (uint32_t label : function.branchTargets[operand.index].targets)
            body(targetOf(label));
      }
    };
    auto leaves = [](const Instruction &one) {
      const Handler handler = ptx::rowOf(one).handler;
      return handler == Handler::bra || handler == Handler::brx || handler == Handler::ret ||
             handler == Handler::exit || handler == Handler::trap;
    };
    for (size_t i = 0; i < count; ++i)
      if (leaves(function.instructions[i])) {
        begins[i + 1] = true;
        forTargets(function.instructions[i], [&](size_t target) { begins[target] = true; });
      }
    std::vector<size_t> blockAt(count + 1, SIZE_MAX);
    const size_t registers = function.registers.size();
    for (size_t i = 0; i < count; ++i)
      if (begins[i]) {
        size_t end = i + 1;
        while (end < count && !begins[end])
          ++end;
        blockAt[i] = blocks.size();
        blocks.push_back(
            {i, end, {}, Bits(registers), Bits(registers), Bits(registers), Bits(registers)});
      }
    for (Block &block : blocks) {
      const Instruction &ending = function.instructions[block.end - 1];
      if (!leaves(ending) || ending.guarded)
        if (block.end < count)
          block.next.push_back(blockAt[block.end]);
      if (leaves(ending))
        forTargets(ending, [&](size_t target) {
          if (target < count)
            block.next.push_back(blockAt[target]);
        });
    }
  }

  template <typename Body> void forRegisters(const Operand &operand, Body body) const {
    if (operand.kind == OperandKind::reg)
      body(operand.index);
    for (const Operand &element : function.elementsOf(operand))
      if (operand.count != 0)
        forRegisters(element, body);
  }

  void scan(Block &block) {
    for (size_t i = block.begin; i < block.end; ++i) {
      const Instruction &one = function.instructions[i];
      const std::span<const Operand> operands = function.operandsOf(one);
      const ptx::InstructionRow &row = ptx::rowOf(one);
      // Only an unguarded write to a plain first operand is certain to kill the old value.
      const bool kills = !one.guarded && row.handler != Handler::call && !row.operands.empty() &&
                         row.operands[0].written && !operands.empty();
      auto read = [&](uint32_t reg) {
        extend(reg, i);
        if (!block.writes.test(reg))
          block.reads.set(reg);
      };
      if (one.guarded)
        read(one.guard);
      for (size_t k = kills ? 1 : 0; k < operands.size(); ++k)
        forRegisters(operands[k], read);
      if (kills)
        forRegisters(operands[0], [&](uint32_t reg) {
          extend(reg, i);
          // A write to one component of a vector register keeps the other components.
          if (function.registers[reg].vector > 1)
            read(reg);
          else
            block.writes.set(reg);
        });
    }
  }

  const ptx::Function &function;
  std::vector<Block> blocks;
  std::vector<size_t> first, last;
};

} // namespace

/// Whether the function has a wgmma, which reads registers that it also writes.
static bool writesWhatItReads(const ptx::Function &function) {
  return std::any_of(function.instructions.begin(), function.instructions.end(),
                     [](const Instruction &one) {
                       const Handler handler = ptx::rowOf(one).handler;
                       return handler == Handler::wgmma || handler == Handler::wgmmaSparse;
                     });
}

std::vector<uint32_t> assignSlots(const ptx::Module &module, const ptx::Function &function,
                                  uint32_t &frameBytes) {
  std::vector<uint32_t> slots(function.registers.size(), 0);
  // Predicates are packed; every other register begins on its own cache line.
  uint32_t used = 0;
  for (size_t i = 0; i < slots.size(); ++i)
    if (function.registers[i].type == Modifier::pred) {
      slots[i] = frameBytes + used;
      used += 4;
    }
  frameBytes += (used + 63) & ~63u;

  const Liveness liveness(function);
  std::vector<size_t> first = liveness.firstOf(), last = liveness.lastOf();
  std::vector<bool> isPinned(slots.size(), false);
  for (const std::vector<uint32_t> *list : {&function.parameters, &function.returns})
    for (uint32_t index : *list)
      if (module.variables[index].reg != noIndex)
        isPinned[module.variables[index].reg] = true;
  // wgmma reads its accumulators although they are its first operand. If A is in registers, it is
  // the second operand, and wgmma reads it until a wait for this wgmma, which may be long after the
  // last use in the text. Both operands therefore keep their slots for the whole function.
  if (writesWhatItReads(function))
    for (const Instruction &one : function.instructions)
      if (const Handler handler = ptx::rowOf(one).handler;
          handler == Handler::wgmma || handler == Handler::wgmmaSparse)
        for (size_t operand : {0, 1})
          for (const Operand &element : function.elementsOf(function.operandsOf(one)[operand]))
            if (element.kind == OperandKind::reg)
              isPinned[element.index] = true;

  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < slots.size(); ++i)
    if (function.registers[i].type != Modifier::pred && (first[i] != SIZE_MAX || isPinned[i])) {
      if (isPinned[i])
        first[i] = 0, last[i] = SIZE_MAX;
      order.push_back(i);
    }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(first[a], a) < std::pair(first[b], b);
  });
  // Free slots by size, and slots in use by the end of their live interval.
  std::map<uint32_t, std::vector<uint32_t>> free;
  std::multimap<size_t, uint32_t> active; // end of the live interval to register
  for (uint32_t reg : order) {
    const ptx::Register &declared = function.registers[reg];
    const uint32_t bytes = 32 * registerBytes(declared.type) * declared.vector;
    // A register that an instruction reads and a register that it writes never share a slot, so
    // handlers need not handle overlap.
    while (!active.empty() && active.begin()->first < first[reg]) {
      const uint32_t done = active.begin()->second;
      const ptx::Register &ended = function.registers[done];
      free[32 * registerBytes(ended.type) * ended.vector].push_back(slots[done]);
      active.erase(active.begin());
    }
    std::vector<uint32_t> &candidates = free[bytes];
    if (!candidates.empty()) {
      slots[reg] = candidates.back();
      candidates.pop_back();
    } else {
      slots[reg] = frameBytes;
      frameBytes += bytes;
    }
    active.emplace(last[reg], reg);
  }
  // Unused registers keep slot 0; no operation refers to them.
  return slots;
}

} // namespace tilewright::vgpu::machine
