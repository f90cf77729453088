#include "tilewright/support/store/FileCache.h"

#include "tilewright/support/BuildId.h"
#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::vector<std::byte> bytesOf(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class FileCacheTest : public testing::Test {
protected:
  FileCacheTest() {
    std::string pattern = (fs::temp_directory_path() / "file-cache-XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  ~FileCacheTest() override { fs::remove_all(folder); }

  std::vector<fs::path> files() const {
    std::vector<fs::path> paths;
    for (const auto &entry : fs::directory_iterator(folder))
      paths.push_back(entry.path());
    return paths;
  }
  int64_t bytes() const {
    int64_t total = 0;
    for (const fs::path &path : files())
      total += static_cast<int64_t>(fs::file_size(path));
    return total;
  }
  static std::string read(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  static void write(const fs::path &path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  fs::path folder;
};

TEST_F(FileCacheTest, AStoredContentIsLoaded) {
  const FileCache cache(folder / "new/folders", 0);
  EXPECT_FALSE(cache.load("a"));
  ASSERT_TRUE(cache.store("a", bytesOf("content")).isOk());
  ASSERT_TRUE(cache.store("empty", {}).isOk());
  EXPECT_EQ(cache.load("a"), bytesOf("content"));
  EXPECT_EQ(cache.load("empty"), bytesOf(""));
  EXPECT_FALSE(cache.load("b"));
  ASSERT_TRUE(cache.store("a", bytesOf("another")).isOk());
  EXPECT_EQ(cache.load("a"), bytesOf("another"));
}

TEST_F(FileCacheTest, ADamagedFileIsNotUsedAndDeleted) {
  const FileCache cache(folder, 0);
  ASSERT_TRUE(cache.store("a", bytesOf("some content")).isOk());
  const fs::path path = files().front();
  const std::string whole = read(path);
  const auto expectRefused = [&](const std::string &damaged, const std::string &how) {
    write(path, damaged);
    EXPECT_FALSE(cache.load("a")) << how;
    EXPECT_FALSE(fs::exists(path)) << how;
  };
  for (size_t i = 0; i < whole.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      expectRefused(damaged, concat("byte ", i, ", bit ", bit));
    }
  for (size_t size = 0; size < whole.size(); ++size)
    expectRefused(whole.substr(0, size), concat("cut off after ", size));
  expectRefused(whole + "more", "longer");
  write(path, whole);
  EXPECT_EQ(cache.load("a"), bytesOf("some content"));
  fs::rename(path, folder / "b.tilewright");
  EXPECT_FALSE(cache.load("b")) << "renamed";
}

TEST_F(FileCacheTest, TheLeastRecentlyUsedFilesAreDeleted) {
  const FileCache cache(folder, 10'000);
  const std::vector<std::byte> content(1000);
  write(folder / "notes.txt", "not of the cache");
  ASSERT_TRUE(cache.store("too large", std::vector<std::byte>(6000)).isOk());
  EXPECT_FALSE(cache.load("too large"));
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(cache.store(concat("n", i), content).isOk());
    EXPECT_TRUE(cache.load("n0")) << "is used all the time: " << i;
    EXPECT_LE(bytes(), 10'000 + 100);
    // File systems may count in ticks of several milliseconds.
    std::this_thread::sleep_for(std::chrono::milliseconds(12));
  }
  EXPECT_FALSE(cache.load("n1"));
  EXPECT_TRUE(cache.load("n29"));
  EXPECT_TRUE(fs::exists(folder / "notes.txt"));
}

TEST_F(FileCacheTest, AbandonedTemporaryFilesAreDeletedAfterAnHour) {
  const FileCache cache(folder, 1'000'000);
  write(folder / "old.tilewright-part", "x");
  write(folder / "new.tilewright-part", "x");
  fs::last_write_time(folder / "old.tilewright-part",
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  ASSERT_TRUE(cache.store("a", bytesOf("content")).isOk());
  EXPECT_FALSE(fs::exists(folder / "old.tilewright-part"));
  EXPECT_TRUE(fs::exists(folder / "new.tilewright-part"));
}

TEST_F(FileCacheTest, OnlyRegularFilesAreRead) {
  const FileCache cache(folder, 0);
  ASSERT_EQ(mkfifo((folder / "fifo.tilewright").c_str(), 0600), 0);
  EXPECT_FALSE(cache.load("fifo"));
  ASSERT_TRUE(cache.store("a", bytesOf("content")).isOk());
  fs::create_symlink(folder / "a.tilewright", folder / "link.tilewright");
  EXPECT_FALSE(cache.load("link"));
  fs::create_directory(folder / "folder.tilewright");
  EXPECT_FALSE(cache.load("folder"));
}

TEST_F(FileCacheTest, AFolderThatCannotBeWrittenIsNamed) {
  write(folder / "file", "");
  Status status = FileCache(folder / "file/below", 0).store("a", {});
  EXPECT_EQ(status.error(), Error::cacheUnwritable);
  EXPECT_THAT(status.message(), HasSubstr((folder / "file/below").string()));
  EXPECT_THAT(status.message(), HasSubstr("Not a directory"));
  EXPECT_FALSE(FileCache(folder / "file/below", 0).load("a"));
}

/// A limit on the size of files stands for a full disk: the write stops in the middle.
TEST_F(FileCacheTest, AFullDiskLeavesNothingBehind) {
  const FileCache cache(folder, 0);
  ASSERT_TRUE(cache.store("a", bytesOf("whole")).isOk());
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit little{100, 100};
    setrlimit(RLIMIT_FSIZE, &little);
    Status status = cache.store("a", std::vector<std::byte>(1000));
    _exit(status.error() == Error::cacheUnwritable &&
                  status.message().find("File too large") != std::string::npos
              ? 0
              : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(cache.load("a"), bytesOf("whole"));
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(FileCacheTest, ThreadsThatStoreAndLoadSeeWholeContents) {
  const FileCache cache(folder, 20'000);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 200; ++i) {
        const std::string name = concat("n", (i * 7 + thread) % 16);
        if (auto found = cache.load(name))
          EXPECT_EQ(*found, std::vector<std::byte>(2000, std::byte(name.size() + name.back())));
        else
          EXPECT_TRUE(
              cache.store(name, std::vector<std::byte>(2000, std::byte(name.size() + name.back())))
                  .isOk());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(BuildId, IsAHashInHexadecimal) {
  EXPECT_EQ(buildId().size(), 40u);
  EXPECT_EQ(buildId().find_first_not_of("0123456789abcdef"), std::string::npos);
}

} // namespace
} // namespace tilewright
