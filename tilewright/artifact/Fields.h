// Fields: the order of all fields in an executable, defined once for the writer, the reader and the
// fuzzer.
#ifndef TILEWRIGHT_ARTIFACT_FIELDS_H
#define TILEWRIGHT_ARTIFACT_FIELDS_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Archive.h"

namespace tilewright::artifact {

/// An archive is a class with these members. Writer.cpp, Reader.cpp and the fuzzer each define one;
/// support/Archive.h handles the plain fields.
///
///   static constexpr bool isWriter
///   void number(T &)                       an unsigned number, or bool
///   void integer(int64_t or int32_t &)     a signed number
///   void enumeration(E &, size_t count)    an enum of `count` values from 0
///   void text(std::string &)
///   void bytes(std::vector<std::byte> &)
///   void list(V &, const char *things)     a vector, through fields() of its items
///   void alternative(V &)                  a variant: its index, then its fields()
///   void optional(O &)                     a flag whether it has a value, then its fields()
///   bool enter(); void leave();            nested attributes; enter() is false if too deep
using tilewright::Field;

template <typename A> void fields(A &a, Field<A, std::string> &text) { a.text(text); }
template <typename A> void fields(A &a, Field<A, int64_t> &value) { a.integer(value); }
template <typename A> void fields(A &a, Field<A, Index> &value) { a.number(value); }
template <typename A> void fields(A &a, Field<A, std::vector<int64_t>> &list) {
  a.list(list, "ranks");
}
template <typename A> void fields(A &a, Field<A, std::vector<std::byte>> &bytes) { a.bytes(bytes); }

template <typename A> void fields(A &a, Field<A, ElementType> &type) {
  a.enumeration(type, numerics::elementTypeCount);
}

template <typename A> void fields(A &a, Field<A, TensorType> &type) {
  a.enumeration(type.element, numerics::elementTypeCount);
  a.list(type.dims, "dimensions");
}
template <typename A> void fields(A &a, Field<A, Elements> &elements) {
  a.enumeration(elements.type, numerics::elementTypeCount);
  a.number(elements.isScalar);
  a.bytes(elements.bytes);
}
template <typename A> void fields(A &a, Field<A, std::vector<Attribute>> &attributes) {
  if (a.enter())
    a.list(attributes, "attributes");
  a.leave();
}
template <typename A> void fields(A &a, Field<A, Attribute> &attribute) {
  a.text(attribute.name);
  a.alternative(attribute.value);
}
template <typename A> void fields(A &a, Field<A, Allocation> &allocation) {
  a.enumeration(allocation.storage, 4);
  a.number(allocation.index);
  a.integer(allocation.bytes);
  a.number(allocation.space);
}
template <typename A> void fields(A &a, Field<A, Slice> &slice) {
  a.number(slice.allocation);
  a.integer(slice.offset);
  a.integer(slice.bytes);
}
template <typename A> void fields(A &a, Field<A, Operand> &operand) {
  fields(a, operand.slice);
  a.number(operand.type);
}
template <typename A> void fields(A &a, Field<A, TensorMap> &map) {
  a.number(map.buffer);
  a.enumeration(map.element, numerics::elementTypeCount);
  a.list(map.dims, "dimensions");
  a.list(map.byteStrides, "strides");
  a.list(map.box, "box sizes");
  a.list(map.elementStrides, "element strides");
  a.enumeration(map.interleave, 3);
  a.enumeration(map.swizzle, 7);
  a.enumeration(map.promotion, 4);
  a.enumeration(map.fill, 2);
}
template <typename A> void fields(A &a, Field<A, GpuLaunch> &launch) {
  for (auto *shape : {&launch.grid, &launch.block, &launch.cluster})
    for (auto &extent : *shape)
      a.number(extent);
  a.number(launch.sharedBytes);
  a.list(launch.tensorMaps, "tensor maps");
}
template <typename A> void fields(A &a, Field<A, Kernel> &kernel) {
  a.text(kernel.symbol);
  a.integer(kernel.grid);
  a.integer(kernel.scratchBytes);
  a.integer(kernel.itemCost);
  a.optional(kernel.gpu);
}

// Fields of library calls.
template <typename A, typename Enum>
  requires numerics::LibraryEnum<std::remove_const_t<Enum>>
void field(A &a, Enum &value, const char *) {
  a.enumeration(value, numerics::enumCount<std::remove_const_t<Enum>>);
}
template <typename A> void field(A &a, Field<A, bool> &value, const char *) { a.number(value); }
template <typename A> void field(A &a, Field<A, int64_t> &value, const char *) { a.integer(value); }
template <typename A> void field(A &a, Field<A, std::string> &text, const char *) { a.text(text); }
template <typename A> void field(A &a, Field<A, Integers> &values, const char *name) {
  a.list(values, name);
}
template <typename A> void field(A &a, Field<A, std::optional<ElementType>> &type, const char *) {
  a.optional(type);
}
template <typename A, IsLibraryCall Call> void fields(A &a, Call &call) {
  eachField(call, [&](const char *name, auto &value) { field(a, value, name); });
}
template <typename A> void fields(A &a, Field<A, Library> &library) {
  a.alternative(library.call);
  a.list(library.bodies, "bodies");
}

template <typename A> void fields(A &a, Field<A, LaunchStep> &step) {
  a.number(step.kernel);
  a.list(step.buffers, "buffers");
}
template <typename A> void fields(A &a, Field<A, LibraryStep> &step) {
  a.number(step.library);
  a.list(step.operands, "operands");
  a.list(step.results, "results");
}
template <typename A> void fields(A &a, Field<A, CustomCallStep> &step) {
  a.text(step.target);
  a.integer(step.apiVersion);
  a.text(step.opaque);
  fields(a, step.attributes);
  a.list(step.operands, "operands");
  a.list(step.results, "results");
}
template <typename A> void fields(A &a, Field<A, CopyStep> &step) {
  fields(a, step.from);
  fields(a, step.to);
}
template <typename A> void fields(A &a, Field<A, WhileStep> &step) {
  a.number(step.condition);
  a.number(step.body);
  fields(a, step.predicate);
  a.integer(step.tripCount);
}
template <typename A> void fields(A &a, Field<A, BranchStep> &step) {
  fields(a, step.selector);
  a.number(step.isPredicate);
  a.list(step.blocks, "blocks");
}
template <typename A> void fields(A &a, Field<A, CollectiveStartStep> &step) {
  a.enumeration(step.kind, numerics::collectiveKindCount);
  a.number(step.id);
  a.number(step.order);
  a.list(step.groups, "groups");
  a.integer(step.dimension);
  a.integer(step.splitDimension);
  a.enumeration(step.reduction, numerics::reductionKindCount);
  a.list(step.bodies, "bodies");
  a.list(step.operands, "operands");
  a.list(step.results, "results");
}
template <typename A> void fields(A &a, Field<A, CollectiveDoneStep> &step) { a.number(step.id); }

template <typename A> void fields(A &a, Field<A, Step> &step) {
  a.alternative(step.action);
  a.text(step.name);
  a.text(step.location);
  a.text(step.source);
}
template <typename A> void fields(A &a, Field<A, Block> &block) { a.list(block.steps, "steps"); }

template <typename A> void fields(A &a, Field<A, Parameter> &parameter) {
  fields(a, parameter.type);
  a.text(parameter.memoryKind);
  a.enumeration(parameter.donation, 3);
  a.text(parameter.sharding);
}
template <typename A> void fields(A &a, Field<A, ResultInfo> &result) {
  fields(a, result.type);
  a.text(result.memoryKind);
  a.number(result.aliasOf);
  a.text(result.sharding);
}

// Sections made of fields. Constants, binary and communication are raw bytes instead.
template <typename A> void signatureFields(A &a, Field<A, Executable> &executable) {
  a.text(executable.name);
  a.text(executable.target.triple);
  a.text(executable.target.cpu);
  a.list(executable.target.features, "features");
  a.integer(executable.replicas);
  a.integer(executable.partitions);
  a.list(executable.parameters, "parameters");
  a.list(executable.results, "results");
}
template <typename A> void planFields(A &a, Field<A, Executable> &executable) {
  a.list(executable.types, "types");
  a.list(executable.allocations, "allocations");
  a.integer(executable.arenaBytes[0]);
  a.integer(executable.arenaBytes[1]);
  a.list(executable.kernels, "kernels");
  a.list(executable.libraries, "libraries");
  a.list(executable.blocks, "blocks");
}
template <typename A> void objectFields(A &a, Field<A, Executable> &executable) {
  a.list(executable.objects, "objects");
}
template <typename A> void statisticsFields(A &a, Field<A, Executable> &executable) {
  fields(a, executable.statistics);
}

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_FIELDS_H
