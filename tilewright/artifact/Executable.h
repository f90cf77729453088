// Executable: the compiler's output and the runtime's input, as plain structs.
#ifndef TILEWRIGHT_ARTIFACT_EXECUTABLE_H
#define TILEWRIGHT_ARTIFACT_EXECUTABLE_H

#include "tilewright/artifact/AlignedBytes.h"
#include "tilewright/artifact/LibraryCalls.h"
#include "tilewright/numerics/Collective.h"
#include "tilewright/numerics/ElementType.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tilewright::artifact {

using numerics::CollectiveKind;
using numerics::ReductionKind;

/// An index into one of the tables of the Executable.
using Index = uint32_t;
inline constexpr Index none = ~Index(0);

struct TensorType {
  ElementType element = ElementType::pred;
  std::vector<int64_t> dims;
  bool operator==(const TensorType &) const = default;
};

/// A configuration value of a custom call, or a statistic. Elements keep their type, because
/// custom-call handlers query it.
struct Attribute;
struct Elements {
  ElementType type = ElementType::i64;
  bool isScalar = false;
  std::vector<std::byte> bytes; // storageBytes(type) each
  bool operator==(const Elements &) const = default;
};
using AttributeValue = std::variant<std::string, Elements, std::vector<Attribute>>;
struct Attribute {
  std::string name;
  AttributeValue value;
  bool operator==(const Attribute &) const;
};
inline bool Attribute::operator==(const Attribute &) const = default;

/// Where an allocation comes from when the executable runs.
enum class Storage : uint8_t {
  parameter, // the caller's buffer with number `index`
  result,    // a new buffer that becomes result number `index`
  constant,  // bytes of the constants section from `index`; never written
  temporary, // part of an arena that each run allocates
};

/// A range of memory; steps read and write slices of it.
struct Allocation {
  Storage storage = Storage::temporary;
  uint64_t index = 0; // see Storage; for a temporary, its offset in the arena of its space
  int64_t bytes = 0;
  uint8_t space = 0; // colour: 0 device, 1 pinned host
  bool operator==(const Allocation &) const = default;
};

/// A byte range of an allocation. Offsets are multiples of 64.
struct Slice {
  Index allocation = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
  bool operator==(const Slice &) const = default;
};

/// A slice interpreted as a tensor; `type` is an index into Executable::types.
struct Operand {
  Slice slice;
  Index type = 0;
  bool operator==(const Operand &) const = default;
};

/// A tensor as the GPU's copy engine (TMA) sees it: the arguments of cuTensorMapEncodeTiled, with
/// dimension 0 contiguous. The runtime encodes it with the buffer's address.
struct TensorMap {
  enum class Interleave : uint8_t { none, bytes16, bytes32 };
  enum class Swizzle : uint8_t {
    none,
    bytes32,
    bytes64,
    bytes128,
    bytes128Atom32, // the others have 16-byte atoms
    bytes128Atom32Flip8,
    bytes128Atom64,
  };
  enum class L2Promotion : uint8_t { none, bytes64, bytes128, bytes256 };
  enum class Fill : uint8_t { zero, nan };

  Index buffer = 0; // index into LaunchStep::buffers
  ElementType element = ElementType::f32;
  std::vector<int64_t> dims;           // 1 to 5
  std::vector<int64_t> byteStrides;    // of all but dimension 0
  std::vector<int64_t> box;            // elements that one copy moves
  std::vector<int64_t> elementStrides; // 1 takes all, 2 every second
  Interleave interleave = Interleave::none;
  Swizzle swizzle = Swizzle::none;
  L2Promotion promotion = L2Promotion::none;
  Fill fill = Fill::zero; // value of elements outside the tensor
  bool operator==(const TensorMap &) const = default;
};

/// How to launch a GPU kernel. The kernel's parameters are pointers to the step's buffers, in
/// order, followed by each tensor map, 128 bytes by value.
struct GpuLaunch {
  std::array<uint32_t, 3> grid = {1, 1, 1};    // in blocks
  std::array<uint32_t, 3> block = {1, 1, 1};   // in threads
  std::array<uint32_t, 3> cluster = {1, 1, 1}; // in blocks; divides the grid
  uint32_t sharedBytes = 0;                    // dynamic, besides what the code itself declares
  std::vector<TensorMap> tensorMaps;
  bool operator==(const GpuLaunch &) const = default;
};

/// Generated code. On a CPU, `void symbol(void *const *buffers, int64_t begin, int64_t end,
/// std::byte *scratch)` computes work items [begin, end) of the kernel's grid. For GPUs see
/// GpuLaunch.
struct Kernel {
  std::string symbol;
  int64_t grid = 1;
  int64_t scratchBytes = 0; // per call
  int64_t itemCost = 0;     // estimated nanoseconds for one work item, for choosing a grain
  std::optional<GpuLaunch> gpu = std::nullopt; // present if and only if the target is a GPU
  bool operator==(const Kernel &) const = default;
};

/// A kernel of the runtime's library, with its configuration. `bodies` are the symbols of scalar
/// functions: `void body(const void *const *args, void *const *results)`.
struct Library {
  LibraryCall call;
  std::vector<std::string> bodies;
  auto operator<=>(const Library &) const = default;
};

struct LaunchStep {
  Index kernel = 0;
  std::vector<Slice> buffers; // operands, then results
  bool operator==(const LaunchStep &) const = default;
};
struct LibraryStep {
  Index library = 0;
  std::vector<Operand> operands, results;
  bool operator==(const LibraryStep &) const = default;
};
/// Calls a handler that the user, JAX or this project registered by name.
struct CustomCallStep {
  std::string target;
  int32_t apiVersion = 0;
  std::string opaque;                // API versions 1 to 3: the configuration string
  std::vector<Attribute> attributes; // API version 4: a typed dictionary
  std::vector<Operand> operands, results;
  bool operator==(const CustomCallStep &) const = default;
};
struct CopyStep {
  Slice from, to; // equal bytes
  bool operator==(const CopyStep &) const = default;
};
/// Runs block `condition`; while the byte at `predicate` is not 0, runs `body` and `condition`
/// again. Loop-carried values are in slices that both blocks read and write.
struct WhileStep {
  Index condition = 0, body = 0;
  Slice predicate;
  /// The number of iterations if the compiler knows it (the runtime may then skip `condition`);
  /// otherwise -1.
  int64_t tripCount = -1;
  bool operator==(const WhileStep &) const = default;
};
/// Runs one of the blocks. An i32 selector is the block's index (the last block if it is out of
/// range); a pred selector selects the first block if true and the second if false.
struct BranchStep {
  Slice selector;
  bool isPredicate = false;
  std::vector<Index> blocks;
  bool operator==(const BranchStep &) const = default;
};
/// Begins a collective; its results may be read after the CollectiveDoneStep with the same `id`.
/// All ranks issue the collectives of a communicator in increasing `order`.
struct CollectiveStartStep {
  CollectiveKind kind = CollectiveKind::allReduce;
  uint32_t id = 0;
  uint32_t order = 0;
  std::vector<std::vector<int64_t>> groups; // of ranks; for collective_permute, pairs
  int64_t dimension = 0;      // all_gather, reduce_scatter; all_to_all: where results are joined
  int64_t splitDimension = 0; // all_to_all
  ReductionKind reduction = ReductionKind::none;
  std::vector<std::string> bodies;        // the function, if the reduction is one
  std::vector<Operand> operands, results; // of ragged_all_to_all: see runtime/RaggedLists.h
  bool operator==(const CollectiveStartStep &) const = default;
};
struct CollectiveDoneStep {
  uint32_t id = 0;
  bool operator==(const CollectiveDoneStep &) const = default;
};

using AnyStepAction = std::variant<LaunchStep, LibraryStep, CustomCallStep, CopyStep, WhileStep,
                                   BranchStep, CollectiveStartStep, CollectiveDoneStep>;
/// Its special members are compiled once, because many units copy and destroy steps.
struct StepAction : AnyStepAction {
  using AnyStepAction::AnyStepAction;
  StepAction();
  StepAction(const StepAction &);
  StepAction(StepAction &&) noexcept;
  StepAction &operator=(const StepAction &);
  StepAction &operator=(StepAction &&) noexcept;
  ~StepAction();
  bool operator==(const StepAction &) const;
};
struct Step {
  StepAction action;
  std::string name;     // shown in timelines: "fusion.3 softmax"
  std::string location; // the user's source file and line
  std::string source;   // the lines and ops of the user's program that it computes, for profiles
  bool operator==(const Step &) const = default;
};
/// The blocks that a step runs, in the order in which it first runs them.
inline std::vector<Index> blocksOf(const Step &step) {
  if (auto *loop = std::get_if<WhileStep>(&step.action))
    return {loop->condition, loop->body};
  if (auto *branch = std::get_if<BranchStep>(&step.action))
    return branch->blocks;
  return {};
}
struct Block {
  std::vector<Step> steps;
  bool operator==(const Block &) const = default;
};

enum class Donation : uint8_t { none, may, must };

struct Parameter {
  TensorType type;
  std::string memoryKind = "device";
  Donation donation = Donation::none;
  std::string sharding; // xla.OpSharding, serialised; empty is replicated
  bool operator==(const Parameter &) const = default;
};
struct ResultInfo {
  TensorType type;
  std::string memoryKind = "device";
  /// The parameter whose buffer holds this result if the caller donates the parameter.
  Index aliasOf = none;
  std::string sharding;
  bool operator==(const ResultInfo &) const = default;
};

/// The target triples of NVIDIA's and AMD's GPUs.
inline constexpr std::string_view gpuTriple = "nvptx64-nvidia-cuda";
inline constexpr std::string_view amdTriple = "amdgcn-amd-amdhsa";

/// The target that the object code was compiled for.
struct Target {
  std::string triple;                // "x86_64-unknown-linux-gnu"
  std::string cpu;                   // the row of the chip table: "x86-64-v4", "sm_90a", "gfx950"
  std::vector<std::string> features; // that the machine must have
  bool isAmd() const { return triple == amdTriple; }
  bool isGpu() const { return triple == gpuTriple || isAmd(); }
  bool operator==(const Target &) const = default;
};

/// A compiled program. Writer.h serialises it; Reader.h checks every field when it deserialises, so
/// code that holds an Executable from readExecutable may index without bounds checks.
struct Executable {
  std::string name;
  Target target;
  std::array<uint8_t, 16> fingerprint = {}; // hash of all else; equal for equal programs
  int64_t replicas = 1, partitions = 1;

  std::vector<Parameter> parameters;
  std::vector<ResultInfo> results;

  std::vector<TensorType> types;
  std::vector<Allocation> allocations;
  int64_t arenaBytes[2] = {0, 0}; // of temporaries, by space
  std::vector<Kernel> kernels;
  std::vector<Library> libraries;
  std::vector<Block> blocks; // the first is the program
  AlignedBytes constants;    // used in place, so that large constants are not copied again
  /// The generated code: ELF relocatable files that the runtime links with each other, or for a GPU
  /// of NVIDIA one PTX text, or for a GPU of AMD one code object, which is linked. The code
  /// generator makes one file on each of its threads.
  std::vector<std::vector<std::byte>> objects;
  std::vector<std::byte> binary; // PTX assembled for exactly this chip; may be empty

  /// The communication plan of all ranks (plan), in encoded form because only the
  /// runtime decodes it; empty if the program has no collectives.
  std::vector<std::byte> communication;

  /// Values that tools display: "flops", "bytes accessed", "fusions" …
  std::vector<Attribute> statistics;

  /// The size of all objects, for reports.
  size_t objectBytes() const {
    size_t sum = 0;
    for (const std::vector<std::byte> &object : objects)
      sum += object.size();
    return sum;
  }
  bool operator==(const Executable &) const = default;
};

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_EXECUTABLE_H
