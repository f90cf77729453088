// The importer and exporter as a program, for tests and benchmarks in Python.
//
//   import-probe print  FILE…             each module in generic form, then a line "// end"
//   import-probe export VERSION FILE OUT  reads and writes again; VERSION is 1.13, or "usual"
//   import-probe again  FILE…             reads, writes, reads and compares; prints how many were
//   equal import-probe time   FILE RUNS         one line of JSON: seconds of each run, operations,
//   peak memory import-probe bytes  SEED RUNS FILE…   imports files with damaged bytes; prints how
//   they ended import-probe tables SEED RUNS FILE…   the same with damaged tables: what decodes but
//   makes no sense
#include "test/import/DamageTables.h"

#include "tilewright/import/EntryBuilder.h"
#include "tilewright/import/Export.h"
#include "tilewright/import/Import.h"
#include "tilewright/import/ModuleBuilder.h"
#include "tilewright/import/VerifyProgram.h"
#include "tilewright/import/bytecode/Reader.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Json.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

using namespace tilewright;

namespace {

Result<mlir::OwningOpRef<mlir::ModuleOp>> importFile(mlir::MLIRContext &context,
                                                     const std::string &path) {
  ImportOptions options;
  TILEWRIGHT_ASSIGN(ArtifactFile file, ArtifactFile::open(path, options));
  return importArtifact(context, file, options);
}

int fail(Status status) {
  std::cerr << status.toString() << "\n";
  return 1;
}

/// Replaces references to constants by the constants, so that the text is complete.
void inlineConstants(mlir::ModuleOp module) {
  module.walk([](mlir::Operation *op) {
    auto resource = op->getAttrOfType<mlir::DenseResourceElementsAttr>("value");
    if (!resource)
      return;
    llvm::ArrayRef<char> data = resource.getRawHandle().getBlob()->getData();
    op->setAttr("value", mlir::DenseElementsAttr::getFromRawBuffer(resource.getType(), data));
  });
}

int print(const std::vector<std::string> &paths) {
  for (const std::string &path : paths) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    Result<mlir::OwningOpRef<mlir::ModuleOp>> module = importFile(context, path);
    if (!module.isOk())
      return fail(std::move(module).takeStatus());
    inlineConstants(**module);
    (*module)->print(llvm::outs(), mlir::OpPrintingFlags().printGenericOpForm());
    llvm::outs() << "\n// end\n";
  }
  return 0;
}

/// The module as text, with locations and complete constants.
std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  inlineConstants(module);
  module.print(out, mlir::OpPrintingFlags().printGenericOpForm().enableDebugInfo());
  return text;
}

int writeAgain(const std::string &version, const std::string &path, const std::string &to) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Result<mlir::OwningOpRef<mlir::ModuleOp>> module = importFile(context, path);
  if (!module.isOk())
    return fail(std::move(module).takeStatus());
  Result<std::string> artifact = exportArtifact(**module, bytecode::Version::parse(version));
  if (!artifact.isOk())
    return fail(std::move(artifact).takeStatus());
  std::ofstream(to, std::ios::binary) << *artifact;
  return 0;
}

int compareAgain(const std::vector<std::string> &paths) {
  size_t equal = 0;
  for (const std::string &path : paths) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    Result<mlir::OwningOpRef<mlir::ModuleOp>> first = importFile(context, path);
    if (!first.isOk())
      return fail(std::move(first).takeStatus());
    Result<std::string> artifact = exportArtifact(**first);
    if (!artifact.isOk())
      return fail(std::move(artifact).takeStatus().during("writing " + path));
    auto second = importArtifact(context, ArtifactFile(*artifact, path + " again"), {});
    if (!second.isOk())
      return fail(std::move(second).takeStatus());
    if (textOf(**first) == textOf(**second))
      ++equal;
    else
      std::cout << path << " differs\n";
  }
  std::cout << equal << " of " << paths.size() << " equal\n";
  return equal == paths.size() ? 0 : 1;
}

/// Peak memory of this process so far, in bytes. getrusage's figure would not do: a process
/// inherits it from the one that started it.
int64_t peakMemory() {
  std::ifstream facts("/proc/self/status");
  for (std::string word; facts >> word;)
    if (int64_t kibibytes; word == "VmHWM:" && facts >> kibibytes)
      return kibibytes * 1024;
  return 0;
}

/// Reads every byte of the constants that are still in the file.
uint64_t sumOfConstants(mlir::ModuleOp module) {
  uint64_t sum = 0;
  module.walk([&](mlir::Operation *op) {
    if (auto resource = op->getAttrOfType<mlir::DenseResourceElementsAttr>("value"))
      for (char each : resource.getRawHandle().getBlob()->getData())
        sum += static_cast<uint8_t>(each);
  });
  return sum;
}

int time(const std::string &path, int runs) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  int64_t before = peakMemory(), imported = 0, operations = 0;
  Seconds visiting(0);
  uint64_t sum = 0;
  JsonWriter json;
  json.open('{').key("seconds").open('[');
  for (int run = 0; run < runs; ++run) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    loadImportDialects(context);
    auto start = Clock::now();
    Result<mlir::OwningOpRef<mlir::ModuleOp>> module = importFile(context, path);
    Seconds taken = Clock::now() - start;
    if (!module.isOk())
      return fail(std::move(module).takeStatus());
    json.number(taken.count());
    operations = 0;
    (*module)->walk([&](mlir::Operation *) { ++operations; });
    if (run + 1 < runs)
      continue;
    imported = peakMemory();
    start = Clock::now();
    sum = sumOfConstants(**module);
    visiting = Clock::now() - start;
  }
  json.close(']').key("visiting_seconds").number(visiting.count()).key("sum").number(sum);
  json.key("operations").number(operations).key("start_bytes").number(before);
  json.key("peak_bytes").number(imported).key("visited_peak_bytes").number(peakMemory());
  json.close('}').line();
  std::cout << std::move(json).take();
  return 0;
}

/// Flips, overwrites, removes and repeats a few bytes.
std::string damaged(std::string bytes, std::mt19937_64 &random) {
  auto pick = [&](size_t below) { return below ? random() % below : 0; };
  for (size_t edits = 1 + pick(4); edits > 0 && !bytes.empty(); --edits) {
    size_t place = pick(bytes.size());
    switch (pick(5)) {
    case 0:
      bytes[place] = static_cast<char>(bytes[place] ^ (1 << pick(8)));
      break;
    case 1:
      bytes[place] = static_cast<char>(pick(256));
      break;
    case 2: // indices are small numbers, so small changes have large effects
      bytes[place] = static_cast<char>(bytes[place] + (pick(2) ? 2 : -2));
      break;
    case 3:
      bytes.erase(place, 1 + pick(4));
      break;
    case 4:
      bytes.insert(place, bytes.substr(place, 1 + pick(8)));
      break;
    }
  }
  return bytes;
}

Status importDamagedBytes(mlir::MLIRContext &context, const std::string &bytes,
                          std::mt19937_64 &random) {
  return importArtifact(context, ArtifactFile(damaged(bytes, random)), {}).takeStatus();
}

Status importDamagedTables(mlir::MLIRContext &context, const std::string &bytes,
                           std::mt19937_64 &random) {
  ArtifactFile file{std::string_view(bytes)};
  loadImportDialects(context);
  TILEWRIGHT_ASSIGN(bytecode::Module tables, bytecode::read(file.bytes(), {}));
  damageTables(tables, random);
  EntryBuilder entries(context, tables, file);
  TILEWRIGHT_ASSIGN(auto module, ModuleBuilder(entries, {}).build());
  return verifyProgram(*module);
}

using Victim = Status (*)(mlir::MLIRContext &, const std::string &, std::mt19937_64 &);

/// Runs damaged copies in child processes, `chunk` in each, so that a crash loses one chunk and the
/// crashing run is known.
int batch(Victim victim, uint64_t seed, int runs, const std::vector<std::string> &paths) {
  std::vector<std::string> contents;
  for (const std::string &path : paths) {
    Result<ArtifactFile> file = ArtifactFile::open(path, ImportOptions());
    if (!file.isOk())
      return fail(std::move(file).takeStatus());
    contents.emplace_back(reinterpret_cast<const char *>(file->bytes().data()),
                          file->bytes().size());
  }
  auto runOne = [&](int run, std::map<std::string, int> &ends) {
    std::mt19937_64 random(seed * 1'000'003 + run);
    size_t which = random() % contents.size();
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    Status status = victim(context, contents[which], random);
    ++ends[status.isOk() ? "ok" : concat("E", status.error() ? int(*status.error()) : 0)];
  };

  constexpr int chunk = 250;
  int crashes = 0;
  std::map<std::string, int> total;
  for (int first = 0; first < runs; first += chunk) {
    int pipes[2];
    if (::pipe(pipes) != 0)
      return 2;
    pid_t child = ::fork();
    if (child == 0) {
      ::alarm(120);
      std::map<std::string, int> ends;
      for (int run = first; run < std::min(first + chunk, runs); ++run) {
        // Tells the parent which run is in progress, in case this process crashes.
        std::string line = concat("run ", run, "\n");
        (void)!::write(pipes[1], line.data(), line.size());
        runOne(run, ends);
      }
      for (const auto &[name, count] : ends) {
        std::string line = concat(name, " ", count, "\n");
        (void)!::write(pipes[1], line.data(), line.size());
      }
      ::_exit(0);
    }
    ::close(pipes[1]);
    std::string said;
    char buffer[4096];
    for (ssize_t got; (got = ::read(pipes[0], buffer, sizeof(buffer))) > 0;)
      said.append(buffer, got);
    ::close(pipes[0]);
    int how = 0;
    ::waitpid(child, &how, 0);
    std::istringstream lines(said);
    std::string name;
    int value, last = -1;
    while (lines >> name >> value) {
      if (name == "run")
        last = value;
      else
        total[name] += value;
    }
    if (how != 0) {
      ++crashes;
      std::cout << "crash: seed " << seed << " run " << last << " ended with "
                << (WIFSIGNALED(how) ? concat("signal ", WTERMSIG(how))
                                     : concat("code ", WEXITSTATUS(how)))
                << "\n";
    }
  }
  for (const auto &[name, count] : total)
    std::cout << name << " " << count << "\n";
  std::cout << "crashes " << crashes << "\n";
  return crashes == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  auto from = [&](size_t first) {
    return std::vector<std::string>(arguments.begin() + first, arguments.end());
  };
  if (arguments.size() >= 2 && arguments[0] == "print")
    return print(from(1));
  if (arguments.size() == 4 && arguments[0] == "export")
    return writeAgain(arguments[1], arguments[2], arguments[3]);
  if (arguments.size() >= 2 && arguments[0] == "again")
    return compareAgain(from(1));
  if (arguments.size() == 3 && arguments[0] == "time")
    return time(arguments[1], std::atoi(arguments[2].c_str()));
  if (arguments.size() >= 4 && (arguments[0] == "bytes" || arguments[0] == "tables"))
    return batch(arguments[0] == "bytes" ? importDamagedBytes : importDamagedTables,
                 std::strtoull(arguments[1].c_str(), nullptr, 10), std::atoi(arguments[2].c_str()),
                 from(3));
  std::cerr << "see the head of ImportProbe.cpp\n";
  return 2;
}
