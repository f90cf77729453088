#include "tilewright/vgpu/count/Report.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Json.h"

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <sstream>

namespace tilewright::vgpu::count {

using ptx::InstructionClass;

namespace {
/// A member of MemoryCounts and its name in JSON.
struct Field {
  const char *name;
  uint64_t MemoryCounts::*value;
};
constexpr Field memoryFields[] = {
    {"global_requests", &MemoryCounts::globalRequests},
    {"global_read_bytes", &MemoryCounts::globalReadBytes},
    {"global_write_bytes", &MemoryCounts::globalWriteBytes},
    {"global_atomic_bytes", &MemoryCounts::globalAtomicBytes},
    {"global_sectors", &MemoryCounts::globalSectors},
    {"global_ideal_sectors", &MemoryCounts::globalIdealSectors},
    {"local_bytes", &MemoryCounts::localBytes},
    {"shared_requests", &MemoryCounts::sharedRequests},
    {"shared_read_bytes", &MemoryCounts::sharedReadBytes},
    {"shared_write_bytes", &MemoryCounts::sharedWriteBytes},
    {"shared_atomic_bytes", &MemoryCounts::sharedAtomicBytes},
    {"shared_wavefronts", &MemoryCounts::sharedWavefronts},
    {"shared_ideal_wavefronts", &MemoryCounts::sharedIdealWavefronts},
    {"remote_shared_bytes", &MemoryCounts::remoteBytes},
    {"tensor_read_bytes", &MemoryCounts::tensorReadBytes},
    {"tensor_write_bytes", &MemoryCounts::tensorWriteBytes},
    {"async_global_bytes", &MemoryCounts::asyncGlobalBytes},
    {"async_global_sectors", &MemoryCounts::asyncGlobalSectors},
    {"async_shared_bytes", &MemoryCounts::asyncSharedBytes},
    {"barrier_waits", &MemoryCounts::barrierWaits},
    {"mbarrier_waits", &MemoryCounts::mbarrierWaits},
    {"cluster_waits", &MemoryCounts::clusterWaits},
    {"group_waits", &MemoryCounts::groupWaits},
};
} // namespace

void MemoryCounts::add(const MemoryCounts &other) {
  for (const Field &field : memoryFields)
    this->*field.value += other.*field.value;
}
void Counts::add(const Counts &other) {
  warpInstructions += other.warpInstructions;
  threadInstructions += other.threadInstructions;
  for (size_t i = 0; i < classCount; ++i)
    byClass[i] += other.byClass[i];
  memory.add(other.memory);
  for (const auto &[type, count] : other.multiplyAdds)
    multiplyAdds[type] += count;
}

// Text.

static std::string percent(uint64_t part, uint64_t whole) {
  if (whole == 0)
    return "-";
  std::ostringstream out;
  out << std::fixed << std::setprecision(1)
      << 100.0 * static_cast<double>(part) / static_cast<double>(whole) << " %";
  return out.str();
}

/// The lines of a file; empty if the file cannot be read.
static std::vector<std::string> linesOf(const std::string &file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; in && std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

static uint64_t allMultiplyAdds(const Counts &counts) {
  uint64_t sum = 0;
  for (const auto &[type, count] : counts.multiplyAdds)
    sum += count;
  return sum;
}

static void writeSummary(std::ostream &out, const Report &report) {
  const Counts &all = report.total;
  const MemoryCounts &memory = all.memory;
  out << "kernel " << report.kernel << " on " << report.chip << ", grid " << listed(report.grid)
      << " of blocks " << listed(report.block);
  if (report.cluster[0] * report.cluster[1] * report.cluster[2] > 1)
    out << " in clusters " << listed(report.cluster);
  out << "\n  instructions  " << all.warpInstructions << " of warps, " << all.threadInstructions
      << " of threads; " << percent(all.threadInstructions, 32 * all.warpInstructions)
      << " of lanes active\n               ";
  for (size_t i = 0; i < classCount; ++i)
    if (all.byClass[i])
      out << ' ' << ptx::nameOf(static_cast<InstructionClass>(i)) << ' ' << all.byClass[i];
  out << "\n  global        " << memory.globalReadBytes << " bytes read, "
      << memory.globalWriteBytes << " written";
  if (memory.globalAtomicBytes)
    out << ", " << memory.globalAtomicBytes << " atomic";
  out << " in " << memory.globalRequests << " requests; " << memory.globalSectors
      << " sectors, ideally " << memory.globalIdealSectors << " ("
      << percent(memory.globalIdealSectors, memory.globalSectors) << ")\n";
  out << "  shared        " << memory.sharedReadBytes << " bytes read, " << memory.sharedWriteBytes
      << " written";
  if (memory.sharedAtomicBytes)
    out << ", " << memory.sharedAtomicBytes << " atomic";
  out << " in " << memory.sharedRequests << " requests; " << memory.sharedWavefronts
      << " wavefronts, " << memory.bankConflicts() << " of them bank conflicts\n";
  if (memory.remoteBytes)
    out << "                " << memory.remoteBytes << " bytes of other blocks\n";
  if (memory.tensorReadBytes || memory.tensorWriteBytes)
    out << "  tensor memory " << memory.tensorReadBytes << " bytes read, "
        << memory.tensorWriteBytes << " written\n";
  if (memory.localBytes)
    out << "  local         " << memory.localBytes << " bytes\n";
  if (memory.asyncGlobalBytes || memory.asyncSharedBytes || report.maxBytesInFlight)
    out << "  asynchronous  " << memory.asyncGlobalBytes << " bytes of global memory in "
        << memory.asyncGlobalSectors << " sectors, " << memory.asyncSharedBytes
        << " of shared memory; at most " << report.maxBytesInFlight << " bytes in flight\n";
  for (const auto &[type, count] : all.multiplyAdds)
    out << "  tensor cores  " << count << " multiply-adds " << type << '\n';
  out << "  waits         " << memory.barrierWaits << " at barriers, " << memory.mbarrierWaits
      << " at mbarriers, " << memory.clusterWaits << " of clusters, " << memory.groupWaits
      << " for groups\n";
}

std::string Report::toText() const {
  std::ostringstream out;
  writeSummary(out, *this);
  std::string file = "?";
  std::vector<std::string> text;
  for (const LineCounts &line : lines) {
    if (line.file != file) {
      file = line.file;
      text = file.empty() ? std::vector<std::string>() : linesOf(file);
      out << "\n"
          << (file.empty() ? std::string("PTX lines without a source location") : file)
          << (text.empty() && !file.empty() ? " (cannot be read)" : "") << "\n"
          << "    line      warps   lanes  global B   sectors     ideal   shared B  wavefronts   "
             "ideal   multiply-adds   waits\n";
    }
    const Counts &counts = line.counts;
    const MemoryCounts &memory = counts.memory;
    auto column = [&](int width, uint64_t value) {
      out << std::setw(width);
      if (value)
        out << value;
      else
        out << '.';
    };
    column(8, line.line);
    column(11, counts.warpInstructions);
    out << std::setw(8) << percent(counts.threadInstructions, 32 * counts.warpInstructions);
    column(10, memory.globalReadBytes + memory.globalWriteBytes + memory.globalAtomicBytes +
                   memory.asyncGlobalBytes);
    column(10, memory.globalSectors + memory.asyncGlobalSectors);
    column(10, memory.globalIdealSectors + memory.asyncGlobalSectors);
    column(11, memory.sharedReadBytes + memory.sharedWriteBytes + memory.sharedAtomicBytes +
                   memory.asyncSharedBytes);
    column(12, memory.sharedWavefronts);
    column(8, memory.sharedIdealWavefronts);
    column(16, allMultiplyAdds(counts));
    column(8, memory.waits());
    if (line.line > 0 && line.line <= text.size())
      out << "  | " << text[line.line - 1];
    out << '\n';
  }
  return out.str();
}

// JSON.

static void writeCounts(JsonWriter &json, const Counts &counts) {
  json.key("warp_instructions").number(counts.warpInstructions);
  json.key("thread_instructions").number(counts.threadInstructions).key("by_class").open('{');
  for (size_t i = 0; i < classCount; ++i)
    if (counts.byClass[i])
      json.key(ptx::nameOf(static_cast<InstructionClass>(i))).number(counts.byClass[i]);
  json.close('}');
  for (const Field &field : memoryFields)
    json.key(field.name).number(counts.memory.*field.value);
  json.key("bank_conflicts").number(counts.memory.bankConflicts()).key("multiply_adds").open('{');
  for (const auto &[type, count] : counts.multiplyAdds)
    json.key(type).number(count);
  json.close('}');
}

std::string Report::toJson() const {
  JsonWriter json;
  auto dimensions = [&](const char *name, const std::array<uint32_t, 3> &dim) {
    json.key(name).open('[').number(dim[0]).number(dim[1]).number(dim[2]).close(']');
  };
  json.open('{').key("kernel").text(kernel).key("chip").text(chip);
  dimensions("grid", grid);
  dimensions("block", block);
  dimensions("cluster", cluster);
  json.key("most_bytes_in_flight").number(maxBytesInFlight).key("total").open('{');
  writeCounts(json, total);
  json.close('}').key("lines").open('[');
  for (const LineCounts &line : lines) {
    json.line().open('{').key("file").text(line.file).key("line").number(line.line);
    writeCounts(json, line.counts);
    json.close('}');
  }
  json.close(']').close('}').line();
  return std::move(json).take();
}

} // namespace tilewright::vgpu::count
