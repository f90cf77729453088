#include "tilewright/target/cpu/Chip.h"

#include "tilewright/dialect/exec/ExecDialect.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::cpu {

static std::vector<Chip> makeChips() {
  std::vector<Chip> rows;
  std::vector<std::string_view> features;
  auto add = [&](std::string_view name, std::string_view cpu, unsigned vectorBytes, int64_t l1,
                 std::string_view own) {
    SmallVector<StringRef> parts;
    StringRef(own).split(parts, ',');
    for (StringRef part : parts)
      features.emplace_back(part.data(), part.size());
    rows.push_back({name, cpu, vectorBytes, l1, features});
  };
#define TILEWRIGHT_CHIP(name, cpu, vectorBytes, l1, features)                                      \
  add(name, cpu, vectorBytes, l1, features);
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
  MLIRContext *context = module.getContext();
  context->loadDialect<exec::ExecDialect>();
  auto core =
      exec::CpuAttr::get(context, /*vectorBytes=*/chip.vectorBytes, /*l1Bytes=*/chip.l1Bytes);
  exec::setTarget(module, exec::TargetAttr::get(context, chip.name, cores, core));
}

const Chip *targetOf(ModuleOp module) { return chipNamed(exec::targetOf(module).chipName()); }

} // namespace tilewright::cpu
