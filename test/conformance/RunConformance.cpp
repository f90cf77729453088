// Runs self-checking programs: each is read, @main is evaluated, and its check.* calls decide.
// usage: run-conformance FOLDER WRONG [NAME…]
//
// Programs are portable artifacts (.mlirbc) or text of our dialects (.mlir). Artifacts whose name
// begins with `dynamic.` have no expected results and are left out. WRONG lists artifacts whose
// expected results are wrong, one line each, "name: reason"; they must fail. NAME runs only files
// whose name contains it, and prints each.
#include "tilewright/import/ArtifactFile.h"
#include "tilewright/import/Import.h"
#include "tilewright/interpret/Evaluator.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace tilewright;

/// CTest's SKIP_RETURN_CODE.
static constexpr int skipped = 77;

static Status runFile(const std::filesystem::path &path) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const Options options;
  if (path.extension() == ".mlir") {
    loadImportDialects(context);
    auto module = mlir::parseSourceFile<mlir::ModuleOp>(path.string(), &context);
    if (!module)
      return Status(Code::invalidArgument, "the text cannot be parsed");
    return interpret::evaluate(*module, "main", {}, options.interpret).takeStatus();
  }
  TILEWRIGHT_ASSIGN(ArtifactFile file, ArtifactFile::open(path.string(), options.import));
  TILEWRIGHT_ASSIGN(mlir::OwningOpRef<mlir::ModuleOp> module,
                    importArtifact(context, file, options.import));
  return interpret::evaluate(*module, "main", {}, options.interpret).takeStatus();
}

/// The names before the colons of a list; `#` begins a comment.
static std::set<std::string> namesIn(const char *path) {
  std::set<std::string> names;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#')
      names.insert(line.substr(0, line.find(':')));
  return names;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: run-conformance FOLDER WRONG [NAME...]\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  if (!std::filesystem::is_directory(folder)) {
    std::printf("skipped: no conformance data in '%s'\n", folder.c_str());
    return skipped;
  }
  const std::set<std::string> wrong = namesIn(argv[2]);
  const std::vector<std::string> wanted(argv + 3, argv + argc);
  auto isWanted = [&](const std::string &name) {
    return wanted.empty() ||
           std::any_of(wanted.begin(), wanted.end(), [&](const std::string &part) {
             return name.find(part) != std::string::npos;
           });
  };
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::string extension = entry.path().extension().string();
    if ((extension == ".mlirbc" || extension == ".mlir") && !name.starts_with("dynamic.") &&
        isWanted(name))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());

  std::vector<Status> statuses(files.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < files.size(); i = next++)
      statuses[i] = runFile(files[i]);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back(work);
  for (std::thread &thread : threads)
    thread.join();

  size_t passed = 0, known = 0, unexpected = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    const bool ok = statuses[i].isOk(), isWrong = wrong.contains(files[i].stem().string());
    passed += ok;
    known += !ok && isWrong;
    unexpected += ok == isWrong;
    if (ok && isWrong)
      std::printf("FAIL %s: passes, but is listed as wrong\n", files[i].filename().c_str());
    else if (!ok && (!isWrong || !wanted.empty()))
      std::printf("FAIL %s: %s\n", files[i].filename().c_str(), statuses[i].toString().c_str());
    else if (!wanted.empty())
      std::printf("pass %s\n", files[i].filename().c_str());
  }
  std::printf("%zu of %zu programs pass, %zu are wrong themselves\n", passed, files.size(), known);
  return files.empty() || unexpected != 0;
}
