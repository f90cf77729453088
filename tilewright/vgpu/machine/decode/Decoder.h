// The decoder of one function; its members are defined in the files Decode*.cpp.
#ifndef TILEWRIGHT_VGPU_MACHINE_DECODE_DECODER_H
#define TILEWRIGHT_VGPU_MACHINE_DECODE_DECODER_H

#include "tilewright/support/Concat.h"
#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Op.h"
#include "tilewright/vgpu/machine/Program.h"
#include "tilewright/vgpu/machine/decode/Decode.h"
#include "tilewright/vgpu/machine/decode/FloatForms.h"
#include "tilewright/vgpu/machine/decode/MemoryForms.h"
#include "tilewright/vgpu/machine/memory/Memory.h"
#include "tilewright/vgpu/ptx/InstructionTable.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tilewright::vgpu::machine {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Operand;
using ptx::OperandKind;

struct CopyForm;
struct MatrixForm;

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

/// The operation `index` places after `first`, in a family of operations that are listed together
/// in handlers/*.def.
inline Operation plus(Operation first, unsigned index) {
  return static_cast<Operation>(static_cast<unsigned>(first) + index);
}

/// The memory order and the scope of an instruction; weak and none if it has no such modifier.
Order orderOf(const Instruction &instruction);
Scope scopeOf(const Instruction &instruction);
/// The state space of a modifier; generic if the modifier is not a state space.
Space spaceOf(Modifier modifier);
Rounding roundingOf(const Instruction &instruction);

/// The element type and the operation of an atomic access or a reduction, if they are known.
std::optional<AtomicType> atomicTypeOf(Modifier type);
std::optional<AtomicOperation> atomicOperationOf(const Instruction &instruction);

/// The widths of the operands d, a, b and c in bytes per lane; 1 for a predicate.
struct OperandBytes {
  unsigned d, a, b, c;
  static constexpr OperandBytes all(unsigned bytes) { return {bytes, bytes, bytes, bytes}; }
};

class Decoder {
public:
  Decoder(Program &program, DecodedFunction &function, const Layout &layout,
          const DecodeOptions &options, const Run *handlers);

  Status run();

private:
  // Operands. These functions return slots with `bytes` bytes per lane.
  uint32_t registerSlot(uint32_t reg, uint8_t component) const;
  unsigned bytesOf(const Operand &operand) const;
  /// The bytes per lane of the registers that an access loads or stores, which may be wider than
  /// `type`.
  unsigned widthOfParts(std::span<const Operand> parts, Modifier type) const;
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
  /// An address in tensor memory, which has 32 bits.
  AddressForm tensorAddress(const Operand &operand);
  const ptx::Variable *variableOf(const Operand &operand) const;
  /// The position of a variable among the parameters of the kernel, if it is one of them.
  std::optional<size_t> kernelParameter(const ptx::Variable &variable) const;
  /// The elements of a vector or pair operand; for any other operand, the operand itself.
  std::span<const Operand> partsOf(const Operand &operand) const {
    const bool hasParts = operand.kind == OperandKind::vector || operand.kind == OperandKind::pair;
    return hasParts ? source.elementsOf(operand) : std::span<const Operand>(&operand, 1);
  }

  // Operations.
  Op &emit(Operation operation);
  Op &emitUnguarded(Operation operation);
  template <typename T> const T *own(T value) {
    auto held = std::make_shared<T>(std::move(value));
    function.owned.push_back(held);
    return static_cast<const T *>(function.owned.back().get());
  }
  /// Emits an operation on all operands of an instruction `d, a[, b[, c]]`.
  Status emitOperands(Operation operation, const OperandBytes &bytes, uint64_t imm);
  Status emitExternal(const void *form);
  Status unsupported(std::string_view why) const;

  Status decodeInstruction();
  // One function for each kind of instruction; ptx/Handlers.def names them.
  Status integer();
  Status carry();
  Status minMax();
  Status dotProduct();
  Status floating();
  Status approximation();
  Status logic();
  Status insertField();
  Status lop3();
  Status shift();
  Status move();
  Status compare();
  Status select();
  Status convert();
  Status convertPair();
  Status convertRandomly();
  Status load();
  Status store();
  Status atomic();
  Status multimem();
  Status addressConversion();
  Status warpExchange();
  Status barrier();
  Status fence();
  Status control();
  /// Instructions without an observable effect on the virtual GPU: hints, breakpoints (there is no
  /// debugger), setmaxnreg and others.
  Status noEffect() { return Status(); }
  Status call();
  Status jump();
  Status mbarrier();
  Status asyncCopy();
  Status bulkCopy();
  Status tensorCopy();
  Status asyncStore();
  Status bulkStore();
  Status replaceTensorMap();
  Status copyTensorMap();
  Status asyncGroup();
  Status cluster();
  Status launchControl();
  Status moveMatrix();
  Status mma();
  Status narrowMma();
  Status sparseMma();
  Status moveWmma();
  Status wmma();
  Status wgmma();
  Status sparseWgmma();
  Status tcgenAllocation();
  Status tcgenMove();
  Status tcgenCommit();
  Status tcgenCopy();
  Status tcgenMma();

  // Helpers of these functions.
  uint64_t floatForm() const;
  Status halfArithmetic(HalfOperation operation);
  Status pairOfFloats(Operation operation);
  Status mixedFloats(Operation operation, Modifier narrow);
  Status extremeOfThree(Operation operation, uint64_t form);
  Status setp(uint32_t first, uint32_t second, Modifier type, const Operand &a, const Operand &b,
              const Operand *combine);
  /// Reports an access before it happens. Returns its form if the access may acquire what another
  /// host thread released; observeRead() must then follow the access.
  const ObserveForm *observe(const AddressForm &address, uint32_t bytes, AccessKind kind,
                             const AccessForm *stored = nullptr);
  void observeRead(const ObserveForm *form);
  /// ld.param of a kernel, at an offset of the parameter at `position`.
  Status loadParameter(const AccessForm &form, size_t position, uint64_t offset);
  /// If the copy is a multicast, reads the mask of CTAs, which is the operand at `position`.
  void readMulticast(CopyForm &form, size_t position);
  std::vector<uint32_t> slotsOf(const Operand &operand, unsigned bytes, bool isWritten);
  /// The shape, the types and the modifiers of a matrix product; it has no operands yet.
  MatrixForm matrixForm() const;
  /// Reads the operands D, A, B and C of mma and wmma.
  void readFragments(MatrixForm &form);
  /// Reads the operands D, A, B of wgmma and those from `scale` on: the scale of D, the signs of A
  /// and B, and whether they are transposed.
  Status readWgmmaOperands(MatrixForm &form, size_t scale);
  /// Finds the registers that wgmma uses and tcgen05.ld writes. Accesses to them by other
  /// instructions are reported to the observer.
  void findMatrixRegisters();
  void reportMatrixRegisters();
  template <typename Body> void forRegisters(const Operand &operand, Body body) const {
    if (operand.kind == OperandKind::reg)
      body(operand.index);
    else if (operand.count != 0)
      for (const Operand &element : source.elementsOf(operand))
        forRegisters(element, body);
  }
  /// Whether asynchronous operations become objects (see AsyncQueue.h).
  bool isTracked() const { return options.observed || options.deferred; }
  uint64_t constantBase() const;

  void learnShared(size_t load, const Operand &base);
  uint32_t rangeSlot() const;
  void fuse();
  void layoutRegisters();
  void layoutLocals();
  void finishJumps();
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
  std::vector<bool> ofMatrices; // by register: whether wgmma uses it or tcgen05.ld writes it; empty
                                // if there is none of them
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_DECODE_DECODER_H
