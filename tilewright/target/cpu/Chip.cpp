#include "tilewright/target/cpu/Chip.h"

#include "tilewright/dialect/exec/ExecDialect.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::cpu {

static std::vector<Chip> makeChips() {
  std::vector<Chip> rows;
  std::vector<std::string_view> features;
  auto add = [&](std::string_view name, std::string_view cpu, unsigned vectorBytes, int64_t l1,
                 int64_t l2, std::string_view own) {
    SmallVector<StringRef> parts;
    StringRef(own).split(parts, ',');
    for (StringRef part : parts)
      features.emplace_back(part.data(), part.size());
    rows.push_back({name, cpu, vectorBytes, l1, l2, features});
  };
#define TILEWRIGHT_CHIP(name, cpu, vectorBytes, l1, l2, features)                                  \
  add(name, cpu, vectorBytes, l1, l2, features);
#include "tilewright/target/cpu/Chips.def"
  return rows;
}

bool Chip::has(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

lanes::Machine Chip::machine() const {
  return {.hasFma = has("fma"),
          .hasHalf = has("f16c"),
          .hasBfloat = false, // avx512bf16 flushes subnormals
          .hasGather = has("avx2"),
          .hasMasks = has("avx512vl"),
          .hasLibrary = true,
          .vectorBytes = vectorBytes,
          .refusal = Error::cpuScalarOp};
}

const std::vector<Chip> &chips() {
  static const std::vector<Chip> rows = makeChips();
  return rows;
}

const Chip *chipNamed(std::string_view name) {
  for (const Chip &chip : chips())
    if (chip.name == name)
      return &chip;
  return nullptr;
}

const Chip &hostChip() {
  static const Chip &host = [&]() -> const Chip & {
    llvm::StringMap<bool> found = llvm::sys::getHostCPUFeatures();
    const Chip *best = &chips().front();
    for (const Chip &chip : chips())
      if (llvm::all_of(chip.features, [&](std::string_view f) {
            return found.lookup(StringRef(f.data(), f.size()));
          }))
        best = &chip;
    return *best;
  }();
  return host;
}

void attachTarget(ModuleOp module, const Chip &chip, int64_t cores) {
  Builder builder(module.getContext());
  SmallVector<Attribute> features;
  for (std::string_view feature : chip.features)
    features.push_back(builder.getStringAttr(StringRef(feature.data(), feature.size())));
  auto string = [&](std::string_view text) -> Attribute {
    return builder.getStringAttr(StringRef(text.data(), text.size()));
  };
  NamedAttribute entries[] = {
      builder.getNamedAttr("kind", string("cpu")),
      builder.getNamedAttr("chip", string(chip.name)),
      builder.getNamedAttr("triple", string(triple)),
      builder.getNamedAttr("vector_bytes", builder.getI64IntegerAttr(chip.vectorBytes)),
      builder.getNamedAttr("l1_bytes", builder.getI64IntegerAttr(chip.l1Bytes)),
      builder.getNamedAttr("l2_bytes", builder.getI64IntegerAttr(chip.l2Bytes)),
      builder.getNamedAttr("cores", builder.getI64IntegerAttr(cores)),
      builder.getNamedAttr("features", builder.getArrayAttr(features)),
  };
  module->setAttr(exec::ExecDialect::targetAttr, builder.getDictionaryAttr(entries));
}

const Chip *targetOf(ModuleOp module) {
  const StringRef name = exec::targetWord(module, "chip");
  return chipNamed(std::string_view(name.data(), name.size()));
}

} // namespace tilewright::cpu
