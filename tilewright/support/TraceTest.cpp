#include "tilewright/support/Trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <unistd.h>

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Trace, RecordsNothingWhileOff) {
  trace::start();
  trace::stop();
  {
    trace::Span span("kernel", "unseen");
  }
  trace::counter("unseen counter", 1);
  EXPECT_THAT(trace::toJson(), Not(HasSubstr("unseen")));
}

TEST(Trace, WritesSpansCountersAndThreadNames) {
  trace::start();
  std::thread other([] {
    trace::nameThread("cpu:0 \"queue\"");
    trace::Span span("kernel", "fusion.3 softmax", "model.py:3 exp");
    trace::counter("bytes in use", 4096);
  });
  other.join();
  trace::stop();

  std::string json = trace::toJson();

  EXPECT_THAT(json, HasSubstr("\"name\":\"fusion.3 softmax\""));
  EXPECT_THAT(json, HasSubstr("\"ph\":\"X\",\"cat\":\"kernel\""));
  EXPECT_THAT(json, HasSubstr("\"args\":{\"source\":\"model.py:3 exp\"}"));
  EXPECT_THAT(json, HasSubstr("\"ph\":\"C\",\"args\":{\"value\":4096}"));
  EXPECT_THAT(json, HasSubstr("cpu:0 \\\"queue\\\""));
}

TEST(Trace, StartingAgainForgets) {
  trace::start();
  {
    trace::Span span("kernel", "before");
  }
  trace::start();
  {
    trace::Span span("kernel", "after");
  }
  trace::stop();
  EXPECT_THAT(trace::toJson(), Not(HasSubstr("before")));
  EXPECT_THAT(trace::toJson(), HasSubstr("after"));
}

TEST(Trace, EventsSinceLeaveOutWhatBeganBefore) {
  trace::start();
  {
    trace::Span span("kernel", "early");
  }
  int64_t since = trace::now();
  {
    trace::Span span("kernel", "late");
  }
  trace::countResidentBytes();
  trace::stop();

  std::vector<trace::ThreadEvents> threads = trace::eventsSince(since);

  ASSERT_EQ(threads.size(), 1u);
  ASSERT_EQ(threads[0].events.size(), 2u);
  EXPECT_EQ(threads[0].events[0].name, "late");
  EXPECT_GE(threads[0].events[0].begin, since);
  EXPECT_EQ(threads[0].events[1].category, nullptr);
  EXPECT_GT(threads[0].events[1].value, 4096);
}

TEST(Trace, TheNameOfAFileMayHaveTheProcess) {
  std::string folder = testing::TempDir();
  ASSERT_TRUE(trace::write(folder + "/trace-{pid}.json").isOk());
  EXPECT_EQ(::access((folder + "/trace-" + std::to_string(::getpid()) + ".json").c_str(), R_OK), 0);
}

TEST(Trace, NothingIsWrittenEarlyThatNobodyAskedFor) { EXPECT_TRUE(trace::writeEarly().isOk()); }

TEST(Trace, AFileThatCannotBeWrittenIsNamed) {
  Status status = trace::write("/no/such/folder/x.json");
  EXPECT_EQ(status.error(), Error::fileUnwritable);
  EXPECT_THAT(status.message(), HasSubstr("/no/such/folder/x.json"));
}

TEST(Trace, ThreadsRecordWhileItIsWritten) {
  trace::start();
  std::atomic<bool> stopping = false;
  std::thread writer([&] {
    while (!stopping)
      trace::Span span("kernel", "busy");
  });
  for (int i = 0; i < 20; ++i)
    trace::toJson();
  stopping = true;
  writer.join();
  trace::stop();
}

} // namespace
} // namespace tilewright
