// iota, replica_id and partition_id.
#include "tilewright/numerics/scalar/Operations.h"
#include "tilewright/runtime/cpu/library/CallReader.h"
#include "tilewright/runtime/cpu/library/Scratch.h"
#include "tilewright/runtime/cpu/library/movement/CopyPlan.h"

#include <algorithm>
#include <cstring>

namespace tilewright::runtime::cpu {

namespace {
/// Writes the sequence 0, 1, … once and copies it along the other dimensions.
class IotaKernel final : public LibraryKernel {
public:
  IotaKernel(ElementType type, int64_t count, CopyPlan repeat, bool isLine)
      : type(type), count(count), repeat(std::move(repeat)), isLine(isLine),
        convert(numerics::operationFor(numerics::ScalarOp::convert, ElementType::i64, type)) {}

  Status run(const LibraryRun &run) const override {
    if (isLine) {
      fill(run.results[0], run.pool);
      return Status();
    }
    const Scratch line(count * static_cast<int64_t>(numerics::storageBytes(type)));
    fill(line.data(), run.pool);
    repeat.run(line.data(), run.results[0], run.pool);
    return Status();
  }

private:
  void fill(std::byte *to, ThreadPool &pool) const {
    pool.parallelFor(count, 1 << 15, [&](int64_t begin, int64_t end) {
      switch (type) {
      case ElementType::i32:
      case ElementType::ui32:
        return fillAs<int32_t>(to, begin, end);
      case ElementType::i64:
      case ElementType::ui64:
        return fillAs<int64_t>(to, begin, end);
      case ElementType::f32:
        return fillAs<float>(to, begin, end);
      case ElementType::f64:
        return fillAs<double>(to, begin, end);
      default:
        const size_t bytes = numerics::storageBytes(type);
        for (int64_t i = begin; i < end; ++i)
          numerics::storeScalar(type, to + static_cast<size_t>(i) * bytes,
                                convert(numerics::Scalar::ofSigned(i), {}, {}));
      }
    });
  }
  template <typename T> static void fillAs(std::byte *to, int64_t begin, int64_t end) {
    auto *values = reinterpret_cast<T *>(to);
    for (int64_t i = begin; i < end; ++i)
      values[i] = static_cast<T>(i);
  }

  ElementType type;
  int64_t count;
  CopyPlan repeat;
  bool isLine;
  numerics::Operation convert;
};
} // namespace

namespace {
/// partition_id and replica_id: a ui32.
class RankIdKernel final : public LibraryKernel {
public:
  explicit RankIdKernel(bool isPartition) : isPartition(isPartition) {}
  Status run(const LibraryRun &run) const override {
    const auto id = static_cast<uint32_t>(isPartition ? run.partition : run.replica);
    std::memcpy(run.results[0], &id, sizeof(id));
    return Status();
  }

private:
  const bool isPartition;
};
} // namespace

KernelResult prepareRankId(const artifact::RankIdCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(0, 1));
  TILEWRIGHT_ASSIGN(Shape result, reader.resultShape(0));
  if (result.rank() != 0 || types.results[0].element != ElementType::ui32)
    return reader.failure("the result must be a ui32 scalar, got ", typeString(types.results[0]));
  return makeKernel<RankIdKernel>(call.kind == RankKind::partition);
}

KernelResult prepareIota(const artifact::IotaCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(0, 1));
  TILEWRIGHT_ASSIGN(Shape result, reader.resultShape(0));
  const int64_t dimension = call.iotaDimension;
  TILEWRIGHT_TRY(reader.checkDims("iota_dimension", Dims{dimension}, result.rank()));
  Dims strides(static_cast<size_t>(result.rank()), 0);
  strides[static_cast<size_t>(dimension)] = 1;
  const int64_t count = result.elementCount() == 0 ? 0 : result[dimension];
  const ElementType type = types.results[0].element;
  return makeKernel<IotaKernel>(
      type, count, CopyPlan(result.dims(), strides, result.strides(), numerics::storageBytes(type)),
      result.elementCount() == count);
}

} // namespace tilewright::runtime::cpu
