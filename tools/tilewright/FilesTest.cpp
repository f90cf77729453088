#include "tools/tilewright/Files.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <filesystem>

using namespace tilewright;
using namespace tilewright::tools;
using testing::HasSubstr;

static Status write(const std::string &path, const std::string &text) {
  return writeFile(path, {std::as_bytes(std::span(text))});
}

TEST(Files, WhatIsWrittenIsRead) {
  std::string path = testing::TempDir() + "tilewright-files-test";
  std::string text(100'000, 'x');
  ASSERT_TRUE(write(path, text).isOk());
  EXPECT_EQ(*readFile(path), text);
  std::filesystem::remove(path);
}

TEST(Files, MissingFileIsNamedWithTheReason) {
  Status status = readFile("/nonexistent/a.npy").takeStatus();
  EXPECT_EQ(status.error(), Error::fileUnreadable);
  EXPECT_THAT(status.message(), HasSubstr("/nonexistent/a.npy could not be read: No such file"));
}

TEST(Files, DirectoryIsNotAFile) {
  EXPECT_EQ(readFile("/").takeStatus().error(), Error::fileUnreadable);
}

/// /dev/full accepts a file name and refuses every byte; here it is reached
/// through a link with the temporary's name, as a full disk would be.
TEST(Files, FullDiskLeavesNothingBehind) {
  std::filesystem::path folder = testing::TempDir() + "tilewright-full";
  std::filesystem::create_directory(folder);
  std::string path = folder / "out.npy";
  std::filesystem::create_symlink("/dev/full", path + "." + std::to_string(getpid()) + ".tmp");
  Status status = write(path, "some bytes");
  EXPECT_EQ(status.error(), Error::fileUnwritable);
  EXPECT_THAT(status.message(), HasSubstr("No space left on device"));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}
