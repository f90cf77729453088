// The decoder of one function; its members are defined in the files Decode*.cpp.
#ifndef TILEWRIGHT_VGPU_MACHINE_DECODE_DECODER_H
#define TILEWRIGHT_VGPU_MACHINE_DECODE_DECODER_H

#include "tilewright/support/Concat.h"
#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Op.h"
#include "tilewright/vgpu/machine/Program.h"
#include "tilewright/vgpu/machine/decode/Decode.h"
#include "tilewright/vgpu/machine/decode/MemoryForms.h"
#include "tilewright/vgpu/machine/memory/Memory.h"
#include "tilewright/vgpu/ptx/InstructionTable.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace tilewright::vgpu::machine {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Operand;
using ptx::OperandKind;

/// The addresses of a program's variables.
struct Layout {
  std::span<const uint64_t> addresses; // global and constant, by variable
  std::vector<uint32_t> shared;        // offsets, by variable; noIndex if unused
};

/// The number of bytes per lane of a register of type `type`; 1 for a predicate.
unsigned registerBytes(Modifier type);
bool isSignedType(Modifier type);
/// 0, 1 or 2 for 16, 32 or 64 bits.
unsigned widthIndex(unsigned bytes);

/// The memory order and the scope of an instruction; weak and none if it has no such modifier.
Order orderOf(const Instruction &instruction);
Scope scopeOf(const Instruction &instruction);

class Decoder {
public:
  Decoder(Program &program, DecodedFunction &function, const Layout &layout,
          const DecodeOptions &options, const Run *handlers);

  Status run();

private:
  // Operands. These functions return slots with `bytes` bytes per lane.
  uint32_t registerSlot(uint32_t reg, uint8_t component) const;
  unsigned bytesOf(const Operand &operand) const;
  uint32_t constant(unsigned bytes, uint64_t value);
  uint32_t temporary(unsigned bytes);
  uint64_t immediateBits(const Operand &operand, Modifier type) const;
  /// The slot of a value read as `type`: a register, an immediate, a special register or an
  /// address.
  uint32_t read(const Operand &operand, Modifier type);
  uint32_t readBytes(const Operand &operand, unsigned bytes);
  /// The value of Op::imm in an operation that reads a special register.
  static uint64_t specialForm(const Operand &operand, unsigned bytes);
  uint32_t predicate(const Operand &operand);
  uint32_t write(const Operand &operand, unsigned bytes);
  uint32_t writePredicate(const Operand &operand);
  /// The slot that holds the address of a variable or function, as a value of `bytes` bytes.
  uint32_t addressOf(const Operand &operand, unsigned bytes);
  AddressForm address(const Operand &operand, Space space);
  const ptx::Variable *variableOf(const Operand &operand) const;
  bool isKernelParameter(const ptx::Variable &variable) const;

  // Operations.
  Op &emit(Operation operation);
  Op &emitUnguarded(Operation operation);
  template <typename T> const T *own(T value) {
    auto held = std::make_shared<T>(std::move(value));
    function.owned.push_back(held);
    return static_cast<const T *>(function.owned.back().get());
  }
  Status unsupported(std::string_view why) const;

  // One function for each kind of instruction.
  Status decodeInstruction();
  Status integer();
  Status floating();
  Status approximation();
  Status halfArithmetic(unsigned kind);
  Status logic();
  Status shift();
  Status move();
  Status compare();
  Status select();
  Status convert();
  Status convertPair();
  Status load();
  Status store();
  Status atomic();
  Status multimem();
  Status addressConversion();
  Status warpExchange();
  Status barrier();
  Status control();
  Status call();
  Status jump();
  Status mbarrier();
  Status asyncCopy();
  Status cluster();
  Status matrix();
  Status warpMatrix();
  std::vector<uint32_t> slotsOf(const Operand &operand, unsigned bytes, bool isWritten);
  Status emitExternal(const void *form);

  uint64_t floatForm() const;
  Status setp(uint32_t first, uint32_t second, Modifier type, const Operand &a, const Operand &b,
              const Operand *combine);
  void observe(const AddressForm &address, uint32_t bytes, AccessKind kind,
               const AccessForm *stored = nullptr);
  Status asyncGroup();
  /// Finds the registers that wgmma uses. Accesses to them by other instructions are reported to
  /// the observer.
  void findMatrixRegisters();
  void reportMatrixRegisters();
  template <typename Body> void forRegisters(const Operand &operand, Body body) const {
    if (operand.kind == OperandKind::reg)
      body(operand.index);
    else if (operand.count != 0)
      for (const Operand &element : source.elementsOf(operand))
        forRegisters(element, body);
  }
  /// Whether asynchronous operations are represented as objects (see AsyncQueue.h).
  bool isTracked() const { return options.observed || options.deferred; }
  Space spaceOf(const Instruction &instruction, Modifier found) const;
  uint64_t constantBase() const;

  void learnShared(size_t load, const Operand &base);
  uint32_t rangeSlot() const;
  void fuse();
  void layoutRegisters();
  void layoutLocals();
  Status finishJumps();
  CallValue callValue(const ptx::Variable &variable) const;

  Program &program;
  DecodedFunction &function;
  const Layout &layout;
  const DecodeOptions &options;
  const Run *handlers;
  const ptx::Module &module;
  const ptx::Function &source;

  const Instruction *instruction = nullptr;
  std::span<const Operand> operands;
  ptx::Handler handler{};

  std::vector<uint32_t> slots; // by register
  std::map<std::pair<unsigned, uint64_t>, uint32_t> constants;
  std::map<uint32_t, uint32_t> locals; // offset, by variable
  uint32_t frameBytes = firstSlot;
  std::vector<uint32_t> starts; // by instruction: its first operation
  std::vector<bool> joins;      // by instruction: whether lanes may reconverge before it
  struct Jump {
    size_t op;
    uint32_t label;
  };
  std::vector<Jump> jumps;
  struct IndexedJump {
    size_t op;
    uint32_t list;
    int32_t *distances;
  };
  std::vector<IndexedJump> indexedJumps;
  // By address register: the first load through it since the basic block began or the register was
  // written, and the slot of its SharedFact, if it has one.
  struct KnownAddress {
    size_t load;
    uint32_t slot = 0;
  };
  std::map<uint32_t, KnownAddress> knownAddresses;
  std::vector<bool> ofMatrices; // by register: whether wgmma uses it; empty if there is no wgmma
  struct PredicateArea {
    uint32_t slot = 0, used = 64;
  } predicates;
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_DECODE_DECODER_H
