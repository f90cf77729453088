#include "tilewright/support/Trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

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
    trace::Span span("kernel", "fusion.3 softmax");
    trace::counter("bytes in use", 4096);
  });
  other.join();
  trace::stop();

  std::string json = trace::toJson();

  EXPECT_THAT(json, HasSubstr("\"name\":\"fusion.3 softmax\""));
  EXPECT_THAT(json, HasSubstr("\"ph\":\"X\",\"cat\":\"kernel\""));
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
