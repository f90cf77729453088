#include "tools/tilewright/input/Files.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

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

TEST(Files, APipeIsWrittenAndStaysAPipe) {
  std::filesystem::path folder = testing::TempDir() + "tilewright-pipe";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::string path = folder / "out";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(write(path, "some bytes").isOk());
  char got[16] = {};
  EXPECT_EQ(read(reader, got, sizeof got), 10);
  EXPECT_TRUE(std::filesystem::is_fifo(path));
  close(reader);
  std::filesystem::remove_all(folder);
}

TEST(Files, TheFileOfALinkIsReplacedAndTheLinkStays) {
  std::filesystem::path folder = testing::TempDir() + "tilewright-link";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  for (const char *file : {"exists", "dangling"}) {
    std::filesystem::create_symlink(file, folder / "link");
    if (std::string_view(file) == "exists")
      ASSERT_TRUE(write(folder / file, "old").isOk());
    ASSERT_TRUE(write(folder / "link", "new").isOk());
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
    EXPECT_EQ(*readFile(folder / file), "new");
    std::filesystem::remove(folder / "link");
  }
  std::filesystem::remove_all(folder);
}

TEST(Files, ADirectoryIsNotWritten) {
  Status status = write("/", "some bytes");
  EXPECT_THAT(status.message(), HasSubstr("Is a directory"));
}
