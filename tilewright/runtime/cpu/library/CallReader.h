// Attributes: typed, checked access to the configuration of a library call.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_ATTRIBUTES_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_ATTRIBUTES_H

#include "tilewright/runtime/cpu/library/Library.h"
#include "tilewright/support/Concat.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::runtime::cpu {

using Dims = std::vector<int64_t>;

/// The result of every prepare function.
using KernelResult = Result<std::unique_ptr<LibraryKernel>>;
template <typename Kernel, typename... Arguments>
KernelResult makeKernel(Arguments &&...arguments) {
  return std::unique_ptr<LibraryKernel>(
      std::make_unique<Kernel>(std::forward<Arguments>(arguments)...));
}

/// Reads a call's attributes and checks its types. The call comes from an untrusted file, so this
/// checks everything; each failure is Error::libraryCall and names the kernel.
///
///   CallReader reader(call);
///   TILEWRIGHT_TRY(reader.expectCounts(1, 1));
///   TILEWRIGHT_ASSIGN(Dims permutation, reader.integers("permutation"));
///   if (permutation.size() != rank)
///     return reader.failure("permutation must name each of ", rank, " dimensions");
class CallReader {
public:
  explicit CallReader(const LibraryCall &call) : call(call) {}

  /// The attribute of this name, or null.
  const Attribute *find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  /// Integers of any width, including bools, widened; a scalar is a list of one.
  Result<Dims> integers(std::string_view name) const;
  Result<Dims> integersOr(std::string_view name, Dims otherwise) const;
  Result<int64_t> integer(std::string_view name) const;
  Result<int64_t> integerOr(std::string_view name, int64_t otherwise) const;
  Result<bool> flagOr(std::string_view name, bool otherwise) const;
  /// A scalar of a real or integer type.
  Result<double> real(std::string_view name) const;
  Result<std::string_view> text(std::string_view name) const;
  Result<std::string_view> textOr(std::string_view name, std::string_view otherwise) const;

  ///  - libraryCall: the numbers of operands and results differ from these.
  Status expectCounts(size_t operands, size_t results) const;

  /// The shape of an operand or result; its byte count does not overflow.
  Result<Shape> operandShape(size_t index) const { return shapeOf(call.operands, index); }
  Result<Shape> resultShape(size_t index) const { return shapeOf(call.results, index); }

  ///  - libraryCall: `dims` has a number outside [0, rank) or a duplicate.
  Status checkDims(std::string_view what, std::span<const int64_t> dims, int64_t rank) const;
  /// - libraryCall: result `index` does not have this type.
  Status expectResult(size_t index, ElementType element, std::span<const int64_t> dims) const;

  template <typename... Parts> Status failure(const Parts &...parts) const {
    return Status(Error::libraryCall, concat(call.name, ": ", parts...));
  }

private:
  Result<Shape> shapeOf(std::span<const TensorType> types, size_t index) const;
  const LibraryCall &call;
};

/// "f32[2, 3]", for messages.
std::string typeString(const TensorType &type);

/// values[dims[0]], values[dims[1]], …
Dims pick(std::span<const int64_t> values, std::span<const int64_t> dims);
/// The numbers below `rank` that are not in `dims`, ascending.
Dims remaining(int64_t rank, std::span<const int64_t> dims);
/// The concatenation of lists.
Dims joined(std::initializer_list<std::span<const int64_t>> lists);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_ATTRIBUTES_H
