#include "tilewright/vgpu/libraries/Product.h"

#include "tilewright/cuda-api/CudaTypes.h"
#include "tilewright/numerics/Float.h"
#include "tilewright/numerics/PackedElements.h"
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/HostTools.h"
#include "tilewright/vgpu/libraries/Settings.h"

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace tilewright::vgpu::libraries {

static int64_t paddedLines(int64_t lines) { return (lines + 127) / 128 * 128; }
static int64_t groupsOf(int64_t depth, int64_t block) { return (depth / block + 3) / 4; }

int64_t Side::elementBytes(int64_t depth) const {
  return numerics::arrayBytes(type, lines * depth);
}
int64_t Side::scaleBytes(int64_t depth, int64_t block) const {
  return paddedLines(lines) * groupsOf(depth, block) * 4;
}
int64_t Product::resultBytes() const {
  return numerics::arrayBytes(resultType, lhs.lines * rhs.lines);
}

std::string Product::json() const {
  return concat("\"number\": ", number, ", \"lhs\": \"", numerics::spelling(lhs.type),
                "\", \"rhs\": \"", numerics::spelling(rhs.type), "\", \"scales\": \"",
                numerics::spelling(scaleType), "\", \"block\": ", block, ", \"batch\": ", batch,
                ", \"rows\": ", lhs.lines, ", \"columns\": ", rhs.lines, ", \"depth\": ", depth,
                ", \"type\": \"", numerics::spelling(resultType),
                "\", \"hasFactor\": ", factorOnDevice != nullptr,
                ", \"workspace\": ", workspaceBytes);
}

std::string whyInvalid(const Product &product) {
  auto isAligned = [](const void *address) {
    return reinterpret_cast<uintptr_t>(address) % 16 == 0;
  };
  for (const void *address :
       {static_cast<const void *>(product.lhs.elements),
        static_cast<const void *>(product.rhs.elements),
        static_cast<const void *>(product.lhs.scales),
        static_cast<const void *>(product.rhs.scales), static_cast<const void *>(product.result)})
    if (!address || !isAligned(address))
      return concat("an address is ", address, ", expected a multiple of 16");
  if (numerics::arrayBytes(product.lhs.type, product.depth) % 16 != 0 ||
      numerics::arrayBytes(product.resultType, product.rhs.lines) % 16 != 0 ||
      product.depth % product.block != 0)
    return concat("a depth of ", product.depth, " and ", product.rhs.lines,
                  " columns do not make rows of multiples of 16 bytes");
  if (product.lhs.lines < 1 || product.rhs.lines < 1 || product.depth < 1 || product.batch < 1)
    return "a size is below 1";
  return "";
}

namespace {

/// The value of each bit pattern of a format of at most 8 bits. The sign of an e4m3 scale is
/// ignored, as NVIDIA's documentation says of ue4m3.
std::array<double, 256> valuesOf(ElementType type, bool isScale) {
  std::array<double, 256> values;
  for (unsigned bits = 0; bits < 256; ++bits)
    values[bits] =
        numerics::decode(type, isScale && type == ElementType::f8E4M3FN ? bits & 0x7f : bits);
  return values;
}

/// The elements of an operand, multiplied by their scales.
std::vector<double> dequantise(const Side &side, const Product &product, int64_t matrix) {
  const std::array<double, 256> elements = valuesOf(side.type, false),
                                scales = valuesOf(product.scaleType, true);
  const std::byte *data = side.elements + matrix * side.elementBytes(product.depth);
  const std::byte *scaleData = side.scales + matrix * side.scaleBytes(product.depth, product.block);
  const int64_t groups = groupsOf(product.depth, product.block);
  const bool isPacked = numerics::isPacked(side.type);
  std::vector<double> values(static_cast<size_t>(side.lines * product.depth));
  for (int64_t row = 0; row < side.lines; ++row)
    for (int64_t k = 0; k < product.depth; ++k) {
      const int64_t i = row * product.depth + k, s = k / product.block;
      unsigned bits = static_cast<unsigned>(data[isPacked ? i / 2 : i]);
      if (isPacked)
        bits = i % 2 ? bits >> 4 : bits & 15;
      const int64_t at =
          (row / 128 * groups + s / 4) * 512 + row % 32 * 16 + row / 32 % 4 * 4 + s % 4;
      values[static_cast<size_t>(i)] =
          elements[bits] * scales[static_cast<unsigned>(scaleData[at])];
    }
  return values;
}

void store(ElementType type, std::byte *to, double value) {
  const uint64_t bits = numerics::encode(type, value);
  std::memcpy(to, &bits, numerics::storageBytes(type));
}

void multiply(const Product &product) {
  const float factor = product.factorOnDevice ? *product.factorOnDevice : product.factor;
  const auto bytes = static_cast<int64_t>(numerics::storageBytes(product.resultType));
  for (int64_t matrix = 0; matrix < product.batch; ++matrix) {
    const std::vector<double> lhs = dequantise(product.lhs, product, matrix),
                              rhs = dequantise(product.rhs, product, matrix);
    std::byte *to = product.result + matrix * product.resultBytes();
    for (int64_t m = 0; m < product.lhs.lines; ++m)
      for (int64_t n = 0; n < product.rhs.lines; ++n, to += bytes) {
        double sum = 0;
        const double *x = lhs.data() + m * product.depth, *y = rhs.data() + n * product.depth;
        for (int64_t k = 0; k < product.depth; ++k)
          sum += x[k] * y[k];
        store(product.resultType, to, static_cast<float>(sum) * factor);
      }
  }
}

/// Injects the requested faults. Writes only the virtual GPU's memory.
void spoil(const Product &product) {
  auto isAsked = [&](Fault::Kind kind) {
    return faultOf(product.library, kind, product.number) != nullptr;
  };
  const int64_t bytes = product.batch * product.resultBytes();
  const auto last = bytes - static_cast<int64_t>(numerics::storageBytes(product.resultType));
  if (isAsked(Fault::Kind::overrun))
    std::memset(product.result + bytes, 0x5a, 16);
  if (isAsked(Fault::Kind::underrun))
    std::memset(product.result - 16, 0x5a, 16);
  if (isAsked(Fault::Kind::workspaceOverrun) && product.workspace)
    std::memset(product.workspace + product.workspaceBytes, 0x5a, 16);
  if (isAsked(Fault::Kind::wrong))
    store(product.resultType, product.result + last, -12345);
}

} // namespace

/// Runs on the stream's thread.
static int run(const Product &product) {
  if (faultOf(product.library, Fault::Kind::device, product.number))
    return cuda_api::CUDA_ERROR_LAUNCH_FAILED;
  const int64_t bytes = product.batch * product.resultBytes();
  const auto last = static_cast<int64_t>(numerics::storageBytes(product.resultType));
  std::vector<std::byte> before(product.result + bytes - last, product.result + bytes);
  if (product.workspace)
    std::memset(product.workspace, 0x77, static_cast<size_t>(product.workspaceBytes));
  multiply(product);
  if (faultOf(product.library, Fault::Kind::stale, product.number))
    std::memcpy(product.result + bytes - last, before.data(), before.size());
  spoil(product);
  return cuda_api::CUDA_SUCCESS;
}

int submit(Product product, void *stream) {
  auto *data = new Product(std::move(product));
  auto range = [](const void *begin, int64_t bytes, bool isWritten) {
    return tilewright_vgpu_range{reinterpret_cast<uint64_t>(begin), static_cast<uint64_t>(bytes),
                                 isWritten};
  };
  std::vector<tilewright_vgpu_range> ranges;
  for (const Side *side : {&data->lhs, &data->rhs}) {
    ranges.push_back(range(side->elements, data->batch * side->elementBytes(data->depth), false));
    ranges.push_back(
        range(side->scales, data->batch * side->scaleBytes(data->depth, data->block), false));
  }
  if (data->factorOnDevice)
    ranges.push_back(range(data->factorOnDevice, sizeof(float), false));
  if (data->workspace && data->workspaceBytes > 0)
    ranges.push_back(range(data->workspace, data->workspaceBytes, true));
  ranges.push_back(range(data->result, data->batch * data->resultBytes(), true));
  const tilewright_vgpu_function function{
      data->library == "cudnn" ? "cudnn_block_scaled_product" : "cublasLt_block_scaled_product",
      [](void *product) { return run(*static_cast<Product *>(product)); },
      [](void *product) { delete static_cast<Product *>(product); },
      data,
      ranges.data(),
      ranges.size()};
  return tilewright_vgpu_submit(stream, &function);
}

uint64_t nextNumber(const std::string &library) {
  static std::mutex mutex;
  static auto &counts = *new std::map<std::string, uint64_t>(); // guarded by mutex
  std::lock_guard lock(mutex);
  return ++counts[library];
}

} // namespace tilewright::vgpu::libraries
