#include "tilewright/artifact/Check.h"

#include "tilewright/artifact/CheckGpu.h"
#include "tilewright/artifact/CheckSteps.h"
#include "tilewright/numerics/PackedElements.h"
#include "tilewright/numerics/Shape.h"
#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::artifact {

Status checkAttributes(std::span<const Attribute> attributes, std::string_view owner,
                       size_t depth) {
  auto fail = [&](const Attribute &attribute, auto... what) {
    return Status(Error::executableAttribute, concat("attribute '", attribute.name, "' of ", owner,
                                                     " ", what..., "; compile the program again"));
  };
  for (const Attribute &attribute : attributes) {
    if (attribute.name.empty())
      return fail(attribute, "has no name");
    if (const auto *elements = std::get_if<Elements>(&attribute.value)) {
      const size_t each = numerics::storageBytes(elements->type);
      if (elements->isScalar ? elements->bytes.size() != each : elements->bytes.size() % each != 0)
        return fail(attribute, "has ", elements->bytes.size(), " bytes, expected ",
                    elements->isScalar ? "one element of " : "a multiple of ", each, " bytes");
    } else if (const auto *nested = std::get_if<std::vector<Attribute>>(&attribute.value)) {
      if (depth + 1 >= maxAttributeNesting)
        return fail(attribute, "is nested deeper than ", maxAttributeNesting, " levels");
      TILEWRIGHT_TRY(checkAttributes(*nested, owner, depth + 1));
    }
  }
  return Status();
}

static Result<numerics::Shape> shapeOf(const TensorType &type, std::string_view owner,
                                       size_t number) {
  Result<numerics::Shape> shape = numerics::Shape::create(type.dims);
  if (!shape.isOk())
    return Status(Error::executableType,
                  concat(owner, " ", number, " of the executable has an invalid shape: ",
                         std::move(shape).takeStatus().message(), "; compile the program again"));
  return shape;
}

/// The bytes of a parameter or result, which are packed if its element type is.
static Result<int64_t> arrayBytesOf(const TensorType &type, std::string_view owner, size_t number) {
  TILEWRIGHT_ASSIGN(numerics::Shape shape, shapeOf(type, owner, number));
  return numerics::arrayBytes(type.element, shape.elementCount());
}

namespace {

class Checker {
public:
  Checker(const Executable &executable, const ByteSections &sections)
      : executable(executable), sections(sections) {}

  Status check() {
    TILEWRIGHT_TRY(checkSignature());
    for (size_t i = 0; i < executable.types.size(); ++i) {
      TILEWRIGHT_ASSIGN(numerics::Shape shape, shapeOf(executable.types[i], "type", i));
      typeBytes.push_back(shape.byteCount(executable.types[i].element));
    }
    TILEWRIGHT_TRY(checkAllocations());
    TILEWRIGHT_TRY(checkCode());
    TILEWRIGHT_TRY(checkAttributes(executable.statistics, "the statistics", 0));
    TILEWRIGHT_TRY(checkSteps(executable, typeBytes));
    return checkBlockTree(executable);
  }

private:
  template <typename... Parts> static Status signature(const Parts &...parts) {
    return Status(Error::executableSignature, concat(parts..., "; compile the program again"));
  }
  template <typename... Parts> static Status allocation(const Parts &...parts) {
    return Status(Error::executableAllocation, concat(parts..., "; compile the program again"));
  }

  static bool isKnownMemory(const std::string &kind) {
    return kind == "device" || kind == "pinned_host" || kind == "unpinned_host";
  }

  /// Checks a parameter or result, and appends the size of its array.
  template <typename T>
  Status checkArray(const T &array, const char *what, size_t i, std::vector<int64_t> &sizes) {
    TILEWRIGHT_ASSIGN(int64_t bytes, arrayBytesOf(array.type, what, i));
    sizes.push_back(bytes);
    return isKnownMemory(array.memoryKind)
               ? Status()
               : signature(what, " ", i, " has unknown memory kind '", array.memoryKind, "'");
  }

  Status checkSignature() {
    constexpr int64_t most = int64_t(1) << 24;
    if (executable.replicas < 1 || executable.replicas > most || executable.partitions < 1 ||
        executable.partitions > most)
      return signature("the executable is for ", executable.replicas, " replicas and ",
                       executable.partitions, " partitions; each must be from 1 to ", most);
    for (size_t i = 0; i < executable.parameters.size(); ++i)
      TILEWRIGHT_TRY(checkArray(executable.parameters[i], "parameter", i, parameterBytes));
    std::vector<bool> isTaken(executable.parameters.size());
    for (size_t i = 0; i < executable.results.size(); ++i) {
      const ResultInfo &result = executable.results[i];
      TILEWRIGHT_TRY(checkArray(result, "result", i, resultBytes));
      if (result.aliasOf == none)
        continue;
      if (result.aliasOf >= executable.parameters.size())
        return signature("result ", i, " aliases parameter ", result.aliasOf, ", but there are ",
                         executable.parameters.size(), " parameters");
      if (executable.parameters[result.aliasOf].donation == Donation::none ||
          parameterBytes[result.aliasOf] != resultBytes[i] || isTaken[result.aliasOf])
        return signature(
            "result ", i, " aliases parameter ", result.aliasOf,
            ", which must be donated, aliased by only one result, and have the same size");
      isTaken[result.aliasOf] = true;
    }
    return Status();
  }

  Status checkAllocations() {
    for (int64_t bytes : executable.arenaBytes)
      if (bytes < 0 || bytes > maxBytes)
        return allocation("an arena has ", bytes, " bytes, expected 0 to ", maxBytes);
    std::vector<bool> isStored(executable.results.size());
    for (size_t i = 0; i < executable.allocations.size(); ++i) {
      const Allocation &a = executable.allocations[i];
      if (a.space > 1 || a.bytes < 0 || a.bytes > maxBytes)
        return allocation("allocation ", i, " has ", a.bytes, " bytes in space ", a.space,
                          ", expected 0 to ", maxBytes, " bytes in space 0 or 1");
      switch (a.storage) {
      case Storage::parameter:
        TILEWRIGHT_TRY(checkBuffer(i, a, "parameter", parameterBytes));
        break;
      case Storage::result:
        TILEWRIGHT_TRY(checkBuffer(i, a, "result", resultBytes));
        isStored[a.index] = true;
        break;
      case Storage::constant:
        TILEWRIGHT_TRY(checkInside(i, a, "constants", sections.constants));
        break;
      case Storage::temporary:
        TILEWRIGHT_TRY(
            checkInside(i, a, "arena", static_cast<uint64_t>(executable.arenaBytes[a.space])));
        break;
      }
    }
    for (size_t i = 0; i < isStored.size(); ++i)
      if (!isStored[i] && resultBytes[i] > 0 && executable.results[i].aliasOf == none)
        return allocation("result ", i, " has no allocation");
    return Status();
  }

  static Status checkBuffer(size_t i, const Allocation &a, std::string_view what,
                            const std::vector<int64_t> &sizes) {
    if (a.index >= sizes.size())
      return Status(Error::executableIndex,
                    concat("allocation ", i, " is for ", what, " ", a.index, ", but there are ",
                           sizes.size(), " ", what, "s; compile the program again"));
    if (a.bytes != sizes[a.index])
      return allocation("allocation ", i, " has ", a.bytes, " bytes, but ", what, " ", a.index,
                        " has ", sizes[a.index]);
    return Status();
  }

  static Status checkInside(size_t i, const Allocation &a, std::string_view what, uint64_t size) {
    const auto bytes = static_cast<uint64_t>(a.bytes);
    if (a.index % bufferAlignment != 0 || bytes > size || a.index > size - bytes)
      return allocation("allocation ", i, " has ", bytes, " bytes at offset ", a.index,
                        "; it must begin at a multiple of ", bufferAlignment, " and be inside the ",
                        size, " bytes of the ", what);
    return Status();
  }

  Status checkCode() {
    bool needsObject = false;
    for (size_t i = 0; i < executable.kernels.size(); ++i) {
      const Kernel &kernel = executable.kernels[i];
      needsObject = true;
      if (kernel.symbol.empty() || kernel.grid < 0 || kernel.scratchBytes < 0 ||
          kernel.scratchBytes > maxScratchBytes || kernel.itemCost < 0)
        return Status(Error::executableStep,
                      concat("kernel ", i, " '", kernel.symbol, "' has a grid of ", kernel.grid,
                             ", ", kernel.scratchBytes, " bytes of scratch and an item cost of ",
                             kernel.itemCost,
                             "; it must have a symbol, no negative value, and at most ",
                             maxScratchBytes, " bytes of scratch; compile the program again"));
      if (kernel.gpu.has_value() != executable.target.isGpu())
        return Status(Error::executableStep,
                      concat("kernel ", i, " '", kernel.symbol, "' has ", kernel.gpu ? "a" : "no",
                             " GPU launch, but the target is ", executable.target.triple,
                             "; compile the program again"));
      if (kernel.gpu)
        TILEWRIGHT_TRY(checkGpuLaunch(*kernel.gpu, concat("kernel ", i, " '", kernel.symbol, "'")));
    }
    for (const Library &library : executable.libraries)
      needsObject |= !library.bodies.empty();
    if (needsObject && executable.objects.empty())
      return Status(Error::executableStep,
                    "the executable has kernels, but no object code; compile the program again");
    for (size_t i = 0; i < executable.objects.size(); ++i)
      if (executable.objects[i].empty())
        return Status(Error::executableStep, concat("object ", i,
                                                    " of the executable has no "
                                                    "bytes; compile the program again"));
    if (executable.objects.size() > 1 && executable.target.isGpu())
      return Status(Error::executableStep,
                    concat("the executable is for ", executable.target.triple, ", but has ",
                           executable.objects.size(),
                           " objects; for a GPU it must have one; compile the program again"));
    if (sections.binary > 0 && executable.target.triple != gpuTriple)
      return Status(Error::executableStep,
                    concat("the executable is for ", executable.target.triple,
                           ", but has code for an NVIDIA GPU; compile the program again"));
    return Status();
  }

  const Executable &executable;
  const ByteSections sections;
  std::vector<int64_t> parameterBytes, resultBytes, typeBytes;
};

} // namespace

Status checkExecutable(const Executable &executable, const ByteSections &sections) {
  return Checker(executable, sections).check();
}

Status checkExecutable(const Executable &executable) {
  return checkExecutable(executable, {executable.constants.size(), executable.binary.size()});
}

} // namespace tilewright::artifact
