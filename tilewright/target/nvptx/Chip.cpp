#include "tilewright/target/nvptx/Chip.h"

#include "tilewright/dialect/exec/ExecDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright::nvptx {

lanes::Machine Chip::machine() const {
  return {.hasFma = true,
          .hasHalf = true,
          .hasBfloat = true,
          .hasGather = false,
          .hasMasks = false,
          .hasLibrary = false,
          .vectorBytes = 0,
          .refusal = Error::gpuScalarOp};
}

const std::vector<Chip> &chips() {
  static const std::vector<Chip> rows = {
#define TILEWRIGHT_GPU(name, ptx, processors, sharedBytes, processorShared, processorThreads,      \
                       cluster, matrix)                                                            \
  Chip{name, ptx, processors, sharedBytes, processorShared, processorThreads, cluster, matrix},
#include "tilewright/target/nvptx/Chips.def"
  };
  return rows;
}

const Chip *chipNamed(std::string_view name) {
  for (const Chip &chip : chips())
    if (chip.name == name)
      return &chip;
  return nullptr;
}

/// Element types that the chip's matrix instructions multiply.
static ArrayRef<StringRef> matrixTypes(const Chip &chip) {
  static const StringRef ampere[] = {"f16", "bf16", "tf32", "f64", "i8", "i4"};
  static const StringRef hopper[] = {"f16", "bf16", "tf32", "f64", "i8", "f8E4M3FN", "f8E5M2"};
  static const StringRef blackwell[] = {"f16",      "bf16",   "tf32",     "f64",      "i8",
                                        "f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN"};
  return chip.name == "sm_80"    ? ArrayRef<StringRef>(ampere)
         : chip.name == "sm_90a" ? ArrayRef<StringRef>(hopper)
                                 : ArrayRef<StringRef>(blackwell);
}

/// What schedules and costs are made of: see Rates.def.
static DictionaryAttr ratesOf(Builder &builder, const Chip &chip) {
  NamedAttrList rates;
  auto set = [&](NamedAttrList &list, StringRef name, int64_t value) {
    if (value != 0)
      list.set(name, builder.getI64IntegerAttr(value));
  };
#define TILEWRIGHT_GPU_RATES(chipName, f16, tf32, f8, s8, f4, matrixLatency, copyLatency, shared,  \
                             l2, memory, l2Bytes, cluster, movesRegisters, tensorColumns)          \
  if (chip.name == chipName) {                                                                     \
    NamedAttrList products;                                                                        \
    set(products, "f16", f16);                                                                     \
    set(products, "bf16", f16);                                                                    \
    set(products, "tf32", tf32);                                                                   \
    set(products, "f8", f8);                                                                       \
    set(products, "s8", s8);                                                                       \
    set(products, "f4", f4);                                                                       \
    rates.set("products", products.getDictionary(builder.getContext()));                           \
    set(rates, "matrix_latency", matrixLatency);                                                   \
    set(rates, "copy_latency", copyLatency);                                                       \
    set(rates, "shared_bytes_per_cycle", shared);                                                  \
    set(rates, "l2_bytes_per_cycle", l2);                                                          \
    set(rates, "memory_bytes_per_cycle", memory);                                                  \
    set(rates, "l2_bytes", l2Bytes);                                                               \
    set(rates, "cluster", cluster);                                                                \
    set(rates, "moves_registers", movesRegisters);                                                 \
    set(rates, "tensor_columns", tensorColumns);                                                   \
  }
#include "tilewright/target/nvptx/Rates.def"
  rates.set("matrix_unit",
            builder.getStringAttr(StringRef(chip.matrix.data(), chip.matrix.size())));
  return rates.getDictionary(builder.getContext());
}

void attachTarget(ModuleOp module, const Chip &chip, int64_t processors) {
  Builder builder(module.getContext());
  auto string = [&](std::string_view text) -> Attribute {
    return builder.getStringAttr(StringRef(text.data(), text.size()));
  };
  auto number = [&](int64_t value) -> Attribute { return builder.getI64IntegerAttr(value); };
  NamedAttribute matrix[] = {
      builder.getNamedAttr("instruction", string(chip.matrix)),
      builder.getNamedAttr("types", builder.getStrArrayAttr(matrixTypes(chip))),
  };
  NamedAttribute entries[] = {
      builder.getNamedAttr("kind", string("gpu")),
      builder.getNamedAttr("chip", string(chip.name)),
      builder.getNamedAttr("triple", string(triple)),
      builder.getNamedAttr("processors", number(processors ? processors : chip.processors)),
      builder.getNamedAttr("warp_size", number(chip.warpSize)),
      builder.getNamedAttr("max_threads", number(chip.maxThreads)),
      builder.getNamedAttr("registers", number(chip.registers)),
      builder.getNamedAttr("max_registers", number(chip.maxRegisters)),
      builder.getNamedAttr("shared_bytes", number(chip.sharedBytes)),
      builder.getNamedAttr("processor_shared_bytes", number(chip.processorShared)),
      builder.getNamedAttr("processor_threads", number(chip.processorThreads)),
      builder.getNamedAttr("max_cluster", number(chip.maxCluster)),
      builder.getNamedAttr("sector_bytes", number(chip.sectorBytes)),
      builder.getNamedAttr("matrix", builder.getDictionaryAttr(matrix)),
      builder.getNamedAttr("rates", ratesOf(builder, chip)),
  };
  module->setAttr(exec::ExecDialect::targetAttr, builder.getDictionaryAttr(entries));
}

const Chip *targetOf(ModuleOp module) {
  const StringRef name = exec::targetWord(module, "chip");
  return chipNamed(std::string_view(name.data(), name.size()));
}

int64_t processorsOf(ModuleOp module, const Chip &chip) {
  auto target = module->getAttrOfType<DictionaryAttr>(exec::ExecDialect::targetAttr);
  auto processors = target ? target.getAs<IntegerAttr>("processors") : IntegerAttr();
  return processors ? processors.getInt() : chip.processors;
}

} // namespace tilewright::nvptx
