#include "tilewright/transform/tile/pipeline/ReadMachine.h"

using namespace mlir;

namespace tilewright::pipeline {

std::optional<Machine> readMachine(Attribute target) {
  auto dictionary = dyn_cast_or_null<DictionaryAttr>(target);
  auto rates = dictionary ? dictionary.getAs<DictionaryAttr>("rates") : DictionaryAttr();
  if (!rates)
    return std::nullopt;
  auto number = [](DictionaryAttr from, StringRef key, int64_t otherwise) {
    auto value = from.getAs<IntegerAttr>(key);
    return value ? value.getInt() : otherwise;
  };
  Machine machine;
  if (auto chip = dictionary.getAs<StringAttr>("chip"))
    machine.chip = chip.str();
  machine.processors = number(dictionary, "processors", machine.processors);
  machine.limits.sharedBytes = number(dictionary, "shared_bytes", 0);
  machine.limits.registers = number(dictionary, "registers", machine.limits.registers);
  machine.limits.maxRegisters = number(dictionary, "max_registers", machine.limits.maxRegisters);
  machine.limits.maxThreads = number(dictionary, "max_threads", machine.limits.maxThreads);
  machine.limits.tensorColumns = number(rates, "tensor_columns", 0);
  machine.limits.movesRegisters = number(rates, "moves_registers", 0) != 0;
  StringRef unit;
  if (auto name = rates.getAs<StringAttr>("matrix_unit"))
    unit = name.getValue();
  machine.matrixUnit = unit == "wgmma"     ? MatrixUnit::wgmma
                       : unit == "tcgen05" ? MatrixUnit::tcgen05
                                           : MatrixUnit::mmaSync;
  if (auto products = rates.getAs<DictionaryAttr>("products"))
    for (NamedAttribute entry : products)
      if (auto rate = dyn_cast<IntegerAttr>(entry.getValue()))
        machine.products[entry.getName().strref()] = rate.getInt();
  machine.matrixLatency = number(rates, "matrix_latency", 0);
  machine.copyLatency = number(rates, "copy_latency", 0);
  machine.sharedBytesPerCycle = number(rates, "shared_bytes_per_cycle", 128);
  machine.l2BytesPerCycle = number(rates, "l2_bytes_per_cycle", 1);
  machine.memoryBytesPerCycle = number(rates, "memory_bytes_per_cycle", 1);
  machine.l2Bytes = number(rates, "l2_bytes", 0);
  machine.cluster = number(rates, "cluster", 1);
  return machine;
}

} // namespace tilewright::pipeline
