#include "tilewright/plugin/profile/XSpace.h"

#include "tilewright/plugin/options/ProtoWire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tilewright::plugin {
namespace {

std::vector<ProtoField> fieldsOf(std::string_view bytes, uint32_t number) {
  std::vector<ProtoField> found;
  ProtoReader reader(bytes);
  while (std::optional<ProtoField> field = reader.next())
    if (field->number == number)
      found.push_back(*field);
  EXPECT_TRUE(reader.isOk());
  return found;
}

TEST(XSpace, HasALineForEachThreadAndAnEventForEachSpan) {
  const trace::ThreadEvents threads[] = {{3,
                                          "worker 1",
                                          {{"kernel", "fusion_1", 500, 20, "model.py:3 exp"},
                                           {"kernel", "fusion_0", 100, 50},
                                           {nullptr, "bytes", 1, 2}}},
                                         {4, "silent", {{nullptr, "bytes", 1, 2}}}};
  const std::string bytes = toXSpace(threads, /*toUnix=*/1000);

  std::vector<ProtoField> planes = fieldsOf(bytes, 1);
  ASSERT_EQ(planes.size(), 1u);
  EXPECT_EQ(fieldsOf(planes[0].bytes, 2)[0].bytes, "/device:CUSTOM:Tilewright");
  std::vector<ProtoField> lines = fieldsOf(planes[0].bytes, 3);
  ASSERT_EQ(lines.size(), 1u) << "a thread with counters only has no line";
  EXPECT_EQ(fieldsOf(lines[0].bytes, 2)[0].bytes, "worker 1");
  EXPECT_EQ(fieldsOf(lines[0].bytes, 3)[0].integer, 1100u) << "since 1970";
  std::vector<ProtoField> events = fieldsOf(lines[0].bytes, 4);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(fieldsOf(events[0].bytes, 2)[0].integer, 400'000u) << "picoseconds into the line";
  EXPECT_EQ(fieldsOf(events[0].bytes, 3)[0].integer, 20'000u);
  EXPECT_EQ(fieldsOf(planes[0].bytes, 4).size(), 2u) << "names of events";
  EXPECT_EQ(fieldsOf(events[0].bytes, 4).size(), 2u) << "category and source";
  EXPECT_EQ(fieldsOf(events[1].bytes, 4).size(), 1u) << "no source";
}

} // namespace
} // namespace tilewright::plugin
