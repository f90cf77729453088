#include "tilewright/interpret/Mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Mesh, GroupsAreDevicesThatShareAnAxis) {
  Mesh mesh = *Mesh::create({{"x", 2}, {"y", 3}}, {});
  EXPECT_THAT(mesh.groupsAlong(std::vector{*mesh.axis("y")}),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5)));
  EXPECT_THAT(mesh.groupsAlong(std::vector{*mesh.axis("x")}),
              ElementsAre(ElementsAre(0, 3), ElementsAre(1, 4), ElementsAre(2, 5)));
  EXPECT_THAT(mesh.groupsAlong(std::vector{*mesh.axis("y"), *mesh.axis("x")}),
              ElementsAre(ElementsAre(0, 3, 1, 4, 2, 5)));
}

TEST(Mesh, DeviceIdsRenumberThePlaces) {
  Mesh mesh = *Mesh::create({{"x", 4}}, {0, 2, 1, 3});
  EXPECT_EQ(mesh.positionAlong(std::vector{*mesh.axis("x")}, 2), 1);
  EXPECT_EQ(Mesh::create({{"x", 2}}, {0, 0}).takeStatus().error(), Error::interpretGroups);
}

TEST(Mesh, FactorsSplitAnAxis) {
  // 8 devices as 2 x 2 x 2: the middle factor.
  Mesh mesh = *Mesh::create({{"x", 8}}, {});
  std::vector<Mesh::AxisRef> middle{*mesh.axis("x", 2, 2)};
  EXPECT_EQ(mesh.positionAlong(middle, 2), 1);
  EXPECT_EQ(mesh.positionAlong(middle, 5), 0);
  EXPECT_THAT(mesh.groupsAlong(middle), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3),
                                                    ElementsAre(4, 6), ElementsAre(5, 7)));
  EXPECT_THAT(mesh.axis("x", 3, 2).takeStatus().message(),
              HasSubstr("sub-axis (3)2 does not divide axis 'x'"));
  EXPECT_THAT(mesh.axis("z").takeStatus().message(), HasSubstr("no axis 'z'"));
}

TEST(Mesh, HugeMeshesAreRefused) {
  Status status = Mesh::create({{"x", int64_t(1) << 40}, {"y", int64_t(1) << 40}}, {}).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretGroups);
}
