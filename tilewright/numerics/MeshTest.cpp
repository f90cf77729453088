#include "tilewright/numerics/Mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

using namespace tilewright;
using namespace tilewright::numerics;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Mesh, GroupsAreDevicesThatShareAnAxis) {
  const MeshCoordinates mesh = *MeshCoordinates::create({{"x", 2}, {"y", 3}}, {});
  EXPECT_THAT(mesh.groupsAlong(std::vector{*mesh.mesh().axis("y")}),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5)));
  EXPECT_THAT(mesh.groupsAlong(std::vector{*mesh.mesh().axis("x")}),
              ElementsAre(ElementsAre(0, 3), ElementsAre(1, 4), ElementsAre(2, 5)));
  EXPECT_THAT(mesh.groupsAlong(std::vector{*mesh.mesh().axis("y"), *mesh.mesh().axis("x")}),
              ElementsAre(ElementsAre(0, 3, 1, 4, 2, 5)));
}

TEST(Mesh, DeviceIdsRenumberThePlaces) {
  const MeshCoordinates mesh = *MeshCoordinates::create({{"x", 4}}, {0, 2, 1, 3});
  EXPECT_EQ(mesh.along(std::vector{*mesh.mesh().axis("x")}, 2), 1);
  EXPECT_EQ(MeshCoordinates::create({{"x", 2}}, {0, 0}).takeStatus().error(),
            Error::interpretGroups);
}

TEST(Mesh, FactorsSplitAnAxis) {
  // 8 devices as 2 x 2 x 2: the middle factor.
  const MeshCoordinates mesh = *MeshCoordinates::create({{"x", 8}}, {});
  std::vector<AxisRef> middle{*mesh.mesh().axis("x", 2, 2)};
  EXPECT_EQ(mesh.along(middle, 2), 1);
  EXPECT_EQ(mesh.along(middle, 5), 0);
  EXPECT_THAT(mesh.groupsAlong(middle), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3),
                                                    ElementsAre(4, 6), ElementsAre(5, 7)));
  EXPECT_THAT(mesh.mesh().axis("x", 3, 2).takeStatus().message(),
              HasSubstr("sub-axis (3)2 does not divide axis 'x'"));
  EXPECT_THAT(mesh.mesh().axis("z").takeStatus().message(), HasSubstr("no axis 'z'"));
}

TEST(Mesh, HugeMeshesAreRefused) {
  Status status =
      MeshCoordinates::create({{"x", int64_t(1) << 40}, {"y", int64_t(1) << 40}}, {}).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretGroups);
}

TEST(Mesh, SubAxesThatOverlapAreRecognized) {
  EXPECT_TRUE(overlap({0, 1, 4}, {0, 2, 2}));
  EXPECT_TRUE(overlap({0, 2, 2}, {0, 1, 4}));
  EXPECT_TRUE(overlap({0, 1, 2}, {0, 3, 2})); // of 12: no factorization has both
  EXPECT_FALSE(overlap({0, 1, 2}, {0, 2, 2}));
  EXPECT_FALSE(overlap({0, 1, 4}, {1, 1, 4}));
  // The second is ignored.
  const MeshCoordinates mesh = *MeshCoordinates::create({{"x", 4}}, {});
  EXPECT_THAT(mesh.groupsAlong(std::vector{AxisRef{0, 1, 4}, AxisRef{0, 2, 2}}),
              ElementsAre(ElementsAre(0, 1, 2, 3)));
}

/// Compared with the definition: ranks are in one group if they agree on all factors that `refs`
/// do not name.
TEST(Mesh, GroupsOfSubAxesFollowTheDefinition) {
  const MeshCoordinates mesh = *MeshCoordinates::create(
      {{"x", 12}, {"y", 2}},
      {5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 7, 6, 23, 22, 21, 20, 19, 18, 12, 13, 14, 15, 16, 17});
  const std::vector<AxisRef> factors = {{0, 1, 2}, {0, 2, 3}, {0, 6, 2}, {1, 1, 2}};
  for (unsigned chosen = 0; chosen < 16; ++chosen) {
    std::vector<AxisRef> refs, rest;
    for (size_t i = 4; i-- > 0;) // the innermost factor outermost, another order than the mesh's
      (chosen >> i & 1 ? refs : rest).push_back(factors[i]);
    std::vector<std::vector<int64_t>> groups = mesh.groupsAlong(refs);
    std::vector<int64_t> all;
    for (const std::vector<int64_t> &group : groups)
      for (size_t i = 0; i < group.size(); ++i) {
        all.push_back(group[i]);
        EXPECT_EQ(mesh.along(refs, group[i]), static_cast<int64_t>(i));
        EXPECT_EQ(mesh.along(rest, group[i]), mesh.along(rest, group[0]));
      }
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all.size(), 24U);
    for (size_t i = 0; i < all.size(); ++i)
      EXPECT_EQ(all[i], static_cast<int64_t>(i));
  }
}
