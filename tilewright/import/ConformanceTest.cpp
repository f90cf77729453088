// Reads and verifies all artifacts of the conformance data. If the data is absent, the tests are
// skipped, and CTest reports that.
#include "tilewright/import/Import.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace tilewright;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> filesIn(const std::string &folder) {
  std::vector<std::string> paths;
  fs::path root = fs::path(TILEWRIGHT_CONFORMANCE_DIR) / folder;
  if (fs::exists(root))
    for (const fs::directory_entry &entry : fs::directory_iterator(root))
      paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

void expectAllRead(const std::string &folder, size_t expected) {
  std::vector<std::string> paths = filesIn(folder);
  if (paths.empty())
    GTEST_SKIP() << "no conformance data in " << TILEWRIGHT_CONFORMANCE_DIR << "/" << folder;
  EXPECT_EQ(paths.size(), expected);

  ImportOptions options;
  size_t read = 0;
  for (const std::string &path : paths) {
    // Use a new context for each artifact: it keeps the constants that it read.
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    Result<ArtifactFile> file = ArtifactFile::open(path, options);
    ASSERT_TRUE(file.isOk()) << path;
    Status status = importArtifact(context, *file, options).takeStatus();
    EXPECT_TRUE(status.isOk()) << status.toString();
    read += status.isOk();
  }
  std::cout << folder << ": " << read << " of " << paths.size() << " read\n";
}

} // namespace

TEST(Conformance, EveryVersionSince09IsRead) { expectAllRead("compat", 33); }

TEST(Conformance, EveryProgramIsRead) { expectAllRead("stablehlo", 2713); }
