// CommPlan: every collective of a program, for all of its ranks, as plain data.
#ifndef TILEWRIGHT_COLLECTIVE_PLAN_COMMPLAN_H
#define TILEWRIGHT_COLLECTIVE_PLAN_COMMPLAN_H

#include "tilewright/collective/Communicator.h"
#include "tilewright/support/Fingerprint.h"
#include "tilewright/support/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::collective {

/// An index into one of the plan's tables.
using PlanIndex = uint32_t;
inline constexpr PlanIndex nothing = ~PlanIndex(0);

/// Axes of a mesh, one bit each.
using AxisSet = uint32_t;
inline constexpr size_t maxAxes = 16;

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis &) const = default;
};

/// The ranks as a grid, the first axis outermost. No axes is one rank.
struct RankMesh {
  std::vector<MeshAxis> axes;
  /// The rank at each place, if they are not numbered in row-major order. All that grows with the
  /// number of ranks, and only where a program asks for it.
  std::vector<int64_t> order;

  int64_t size() const;
  /// The axes that have more than one place.
  AxisSet proper() const;
  bool operator==(const RankMesh &) const = default;
};

/// Who meets: groups of ranks that each exchange among themselves.
struct CliqueSpec {
  enum class Form : uint8_t {
    axes,   // the ranks that differ along `axes` alone; generated from the mesh
    groups, // `lists`, because the program names ranks that are no axis
    pairs,  // `lists` of {source, target}: one meeting of all who send or receive
  };
  Form form = Form::axes;
  std::vector<uint8_t> axes; // outermost first, which is the order of a group's members
  std::vector<std::vector<int64_t>> lists;
  bool operator==(const CliqueSpec &) const = default;
};

/// A loop or a branch around collectives, and what is known about it before it runs.
struct Guard {
  enum class Kind : uint8_t { loop, branch };
  Kind kind = Kind::branch;
  PlanIndex parent = nothing; // the guard around it, an earlier one
  uint32_t arm = 0;           // the arm of the parent in which it is
  uint32_t position = 0;      // see Site::start
  /// Arms of a branch. A loop has two: 0 is its condition, 1 its body.
  uint32_t arms = 2;
  /// Turns of a loop; then its condition is never run. -1 if it is not known.
  int64_t tripCount = -1;
  /// Axes along which ranks may choose differently; none: all choose alike.
  AxisSet varies = 0;
  /// For a branch that depends on nothing but the rank: the arm that ranks take, by their place
  /// along `varies`, row-major. Empty if only the run knows.
  std::vector<uint32_t> choices;
  std::string location; // the user's file and line

  bool isKnown() const {
    return kind == Kind::loop ? tripCount >= 0 : arms == 1 || !choices.empty();
  }
  bool operator==(const Guard &) const = default;
};

/// How an engine does an exchange; the compiler's choice, where it has one.
enum class Algorithm : uint8_t { automatic, rankOrdered };
inline constexpr size_t algorithmCount = 2;

/// One place of the program that calls a collective.
struct Site {
  Kind kind = Kind::allReduce;
  ElementType element = ElementType::f32; // of the first tensor
  std::string reduction;                  // "add", …; "function"; empty if nothing is reduced
  int64_t bytes = 0;                      // of all operands of one rank
  Algorithm algorithm = Algorithm::automatic;
  /// Exchanges of one lane are done in the order in which they are issued; lanes are independent.
  uint8_t lane = 0;
  /// Places with the same number are the same exchange, called from branches that different ranks
  /// take. What engines compare when members come together.
  uint32_t meeting = 0;
  PlanIndex clique = 0;
  PlanIndex guard = nothing; // the innermost around it
  uint32_t arm = 0;
  /// Where it is issued and where its results are awaited: one numbering of everything that a
  /// rank does, as the program is written.
  uint32_t start = 0, done = 0;
  std::string name;     // "all_reduce.3"
  std::string location; // the user's file and line
  bool operator==(const Site &) const = default;
};

/// Memory that each rank of a clique gives to the others at load, so that engines need no copies
/// of their own: enough for the largest exchange of the clique.
struct Window {
  PlanIndex clique = 0;
  int64_t bytes = 0;
  int64_t alignment = 64;
  bool operator==(const Window &) const = default;
};

/// What a program exchanges, who with whom, in which order, around which choices. Pure data, the
/// same on all ranks: which rank one is decides nothing in here.
struct CommPlan {
  RankMesh mesh;
  std::vector<CliqueSpec> cliques;
  std::vector<Guard> guards;
  std::vector<Site> sites; // by `start`
  std::vector<Window> windows;
  bool operator==(const CommPlan &) const = default;
};

/// Where ranks are in a mesh.
class Coordinates {
public:
  explicit Coordinates(const RankMesh &mesh);
  int64_t ranks() const { return count; }
  /// The place of `rank` among those of `axes`, row-major in the mesh's order of axes.
  uint32_t along(AxisSet axes, int64_t rank) const;
  /// The groups of a clique, in a fixed order; for pairs one group, sorted.
  std::vector<std::vector<int64_t>> groupsOf(const CliqueSpec &clique) const;

private:
  const RankMesh &mesh;
  int64_t count;
  std::vector<int64_t> strides;
  std::vector<int64_t> placeOf; // by rank; empty if row-major
};

/// The clique of these lists of ranks: all axes if there are none, axes if some give exactly these
/// groups, in any order, else the lists as they are. Costs as much as the lists are long.
CliqueSpec cliqueSpecOf(const RankMesh &mesh, std::vector<std::vector<int64_t>> groups);

/// The guards around a site, outermost first, with the arms that lead to it.
using GuardPath = std::vector<std::pair<PlanIndex, uint32_t>>;
GuardPath pathOf(const CommPlan &plan, const Site &site);

/// Axes by name: "data, model".
std::string nameOf(const RankMesh &mesh, AxisSet axes);
/// "data=2, model=4".
std::string describe(const RankMesh &mesh);
/// "along model", "2 groups of ranks", "3 pairs".
std::string describe(const RankMesh &mesh, const CliqueSpec &clique);
/// "all_reduce.3 (add f32, 4096 bytes, along model) at train.py:41".
std::string describe(const CommPlan &plan, const Site &site);

/// Holds a plan against its own rules; whoever reads one calls this, whoever makes one may. Then
/// all indices are in range, guards form a tree, positions are distinct and nested as the tree is,
/// lists name each rank once, and places of one meeting lie in different arms of a branch that
/// the rank alone decides.
///  - commPlanInvalid (E6011)
Status checkPlan(const CommPlan &plan);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_PLAN_COMMPLAN_H
