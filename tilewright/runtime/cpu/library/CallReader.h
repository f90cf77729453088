// CallReader: the checks that prepare functions share.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_CALLREADER_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_CALLREADER_H

#include "tilewright/numerics/Dims.h"
#include "tilewright/runtime/cpu/library/Library.h"
#include "tilewright/support/Concat.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::runtime::cpu {

using numerics::Dims;
using numerics::joined;
using numerics::pick;
using numerics::remaining;

/// The result of every prepare function.
using KernelResult = Result<std::unique_ptr<LibraryKernel>>;
template <typename Kernel, typename... Arguments>
KernelResult makeKernel(Arguments &&...arguments) {
  return std::unique_ptr<LibraryKernel>(
      std::make_unique<Kernel>(std::forward<Arguments>(arguments)...));
}

/// Checks the types of a call and the fields that refer to them. The call comes from an untrusted
/// file, so a prepare function checks everything; each failure is Error::libraryCall and names the
/// kernel.
///
///   CallReader reader(call.name, types);
///   TILEWRIGHT_TRY(reader.expectCounts(1, 1));
///   TILEWRIGHT_ASSIGN(Shape operand, reader.operandShape(0));
///   TILEWRIGHT_TRY(reader.checkDims("permutation", call.permutation, operand.rank()));
class CallReader {
public:
  /// `types` must outlive the reader.
  CallReader(std::string_view name, const LibrarySignature &types) : types(types), name(name) {}

  const LibrarySignature &types;

  ///  - libraryCall: the numbers of operands and results differ from these.
  Status expectCounts(size_t operands, size_t results) const;

  /// The shape of an operand or result; its byte count does not overflow.
  Result<Shape> operandShape(size_t index) const { return shapeOf(types.operands, index); }
  Result<Shape> resultShape(size_t index) const { return shapeOf(types.results, index); }

  ///  - libraryCall: `dims` has a number outside [0, rank) or a duplicate.
  Status checkDims(std::string_view what, std::span<const int64_t> dims, int64_t rank) const;
  /// - libraryCall: result `index` does not have this type.
  Status expectResult(size_t index, ElementType element, std::span<const int64_t> dims) const;

  template <typename... Parts> Status failure(const Parts &...parts) const {
    return Status(Error::libraryCall, concat(name, ": ", parts...));
  }

private:
  Result<Shape> shapeOf(std::span<const TensorType> values, size_t index) const;
  std::string_view name;
};

/// "f32[2, 3]", for messages.
std::string typeString(const TensorType &type);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_CALLREADER_H
