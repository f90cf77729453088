#include "tilewright/import/ArtifactFile.h"

#include <cstdio>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace tilewright;
using ::testing::HasSubstr;

namespace {

/// A file in the test's temporary folder, deleted by the destructor.
struct TemporaryFile {
  explicit TemporaryFile(std::string_view content)
      : path(::testing::TempDir() + "artifact-" + std::to_string(::getpid())) {
    std::ofstream(path, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::remove(path.c_str()); }
  std::string path;
};

std::string_view text(const ArtifactFile &file) {
  return {reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size()};
}

} // namespace

TEST(ArtifactFile, MapsARegularFile) {
  TemporaryFile onDisk("0123456789");
  Result<ArtifactFile> file = ArtifactFile::open(onDisk.path, ImportOptions());
  ASSERT_TRUE(file.isOk());
  EXPECT_EQ(text(*file), "0123456789");
  EXPECT_EQ(file->name(), onDisk.path);
}

TEST(ArtifactFile, BytesLiveAsLongAsAnyOwner) {
  TemporaryFile onDisk("0123456789");
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  {
    Result<ArtifactFile> file = ArtifactFile::open(onDisk.path, ImportOptions());
    ASSERT_TRUE(file.isOk());
    owner = file->owner();
    bytes = file->bytes();
  }
  EXPECT_EQ(bytes[9], std::byte('9'));
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(ArtifactFile, ReadsAnEmptyFileAsNoBytes) {
  TemporaryFile onDisk("");
  Result<ArtifactFile> file = ArtifactFile::open(onDisk.path, ImportOptions());
  ASSERT_TRUE(file.isOk());
  EXPECT_TRUE(file->bytes().empty());
}

TEST(ArtifactFile, TakesBytesFromElsewhere) {
  ArtifactFile file(std::string_view("abc"));
  EXPECT_EQ(text(file), "abc");
  ArtifactFile copy = file;
  EXPECT_EQ(copy.bytes().data(), file.bytes().data());
}

TEST(ArtifactFile, AMissingFileIsNamedWithTheReason) {
  Status status = ArtifactFile::open("/no/such/step.mlirbc", ImportOptions()).takeStatus();
  EXPECT_EQ(status.error(), Error::artifactUnreadable);
  EXPECT_THAT(status.message(), HasSubstr("'/no/such/step.mlirbc': No such file"));
}

TEST(ArtifactFile, AFolderIsNoArtifact) {
  Status status = ArtifactFile::open("/", ImportOptions()).takeStatus();
  EXPECT_EQ(status.error(), Error::artifactUnreadable);
  EXPECT_THAT(status.message(), HasSubstr("cannot read"));
}

TEST(ArtifactFile, TooLargeNamesTheOptionToRaise) {
  TemporaryFile onDisk("0123456789");
  ImportOptions options;
  options.maxBytes = 9;
  Status status = ArtifactFile::open(onDisk.path, options).takeStatus();
  EXPECT_EQ(status.error(), Error::limitBytes);
  EXPECT_THAT(status.message(), HasSubstr("more than 9 bytes; raise import.max-bytes"));
}

TEST(ArtifactFile, ADeviceWithoutEndIsReadNoFurtherThanTheLimit) {
  ImportOptions options;
  options.maxBytes = 1 << 20;
  Status status = ArtifactFile::open("/dev/zero", options).takeStatus();
  EXPECT_EQ(status.error(), Error::limitBytes);
}
