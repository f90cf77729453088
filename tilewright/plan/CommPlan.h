// CommPlan: all collectives of a program, for all of its ranks, as plain data.
#ifndef TILEWRIGHT_PLAN_COMMPLAN_H
#define TILEWRIGHT_PLAN_COMMPLAN_H

#include "tilewright/numerics/Collective.h"
#include "tilewright/numerics/ElementType.h"
#include "tilewright/numerics/Mesh.h"
#include "tilewright/support/Fingerprint.h"
#include "tilewright/support/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::collective {

using Kind = numerics::CollectiveKind;
using numerics::AxisSet;
using numerics::ElementType;
using numerics::Mesh;
using numerics::MeshAxis;
using numerics::MeshCoordinates;
using numerics::ReductionKind;

/// An index into one of the plan's tables.
using PlanIndex = uint32_t;
inline constexpr PlanIndex nothing = ~PlanIndex(0);

/// The largest number of mesh axes; an AxisSet has a bit for each.
inline constexpr size_t maxAxes = 16;

/// The communicator of an exchange: groups of ranks, each of which exchanges among its members.
struct CliqueSpec {
  enum class Form : uint8_t {
    axes,   // the ranks that differ along `axes` alone; generated from the mesh
    groups, // `lists`, because the program names groups that no set of axes generates
    pairs,  // `lists` of {source, target}: all ranks that send or receive form one group
  };
  Form form = Form::axes;
  std::vector<uint8_t> axes; // outermost first, which is the order of a group's members
  std::vector<std::vector<int64_t>> lists;
  bool operator==(const CliqueSpec &) const = default;
};

/// A loop or a branch around collectives, with what the compiler knows about it.
struct Guard {
  enum class Kind : uint8_t { loop, branch };
  Kind kind = Kind::branch;
  PlanIndex parent = nothing; // the enclosing guard, which has a smaller index
  uint32_t arm = 0;           // the arm of the parent that contains this guard
  uint32_t position = 0;      // see Site::start
  /// Arms of a branch. A loop has two: 0 is its condition, 1 its body.
  uint32_t arms = 2;
  /// The trip count of a loop, if known: its condition then never runs. Otherwise -1.
  int64_t tripCount = -1;
  /// Axes along which ranks may choose differently; empty if all ranks choose the same.
  AxisSet varies = 0;
  /// For a branch that depends only on the rank: the arm that a rank takes, indexed by the rank's
  /// coordinates along `varies`, row-major. Empty if the choice is known only at run time.
  std::vector<uint32_t> choices;
  std::string location; // the user's file and line

  bool isKnown() const {
    return kind == Kind::loop ? tripCount >= 0 : arms == 1 || !choices.empty();
  }
  bool operator==(const Guard &) const = default;
};

/// The algorithm of an exchange, if the compiler chooses one.
enum class Algorithm : uint8_t { automatic, rankOrdered };
inline constexpr size_t algorithmCount = 2;

/// One call site of a collective.
struct Site {
  Kind kind = Kind::allReduce;
  ElementType element = ElementType::f32; // of the first tensor
  ReductionKind reduction = ReductionKind::none;
  int64_t bytes = 0; // of all operands of one rank
  Algorithm algorithm = Algorithm::automatic;
  /// Exchanges in the same lane run in the order in which they are issued; lanes are independent.
  uint8_t lane = 0;
  /// Sites with the same number are the same exchange, called from branches that different ranks
  /// take. Engines compare this number when members join.
  uint32_t collectiveId = 0;
  PlanIndex clique = 0;
  PlanIndex guard = nothing; // the innermost enclosing guard
  uint32_t arm = 0;
  /// The positions where the exchange is issued and where its results are awaited. Positions number
  /// all guards, issues and waits of the program, in program order.
  uint32_t start = 0, done = 0;
  std::string name;     // "all_reduce.3"
  std::string location; // the user's file and line
  bool operator==(const Site &) const = default;
};

/// Memory that each rank of a clique registers with the others at load, so that engines need no
/// staging copies: large enough for the clique's largest exchange.
struct Window {
  PlanIndex clique = 0;
  int64_t bytes = 0;
  int64_t alignment = 64;
  bool operator==(const Window &) const = default;
};

/// All exchanges of a program: their cliques, their order and the control flow around them. Plain
/// data that is the same on all ranks.
struct CommPlan {
  Mesh mesh;
  std::vector<CliqueSpec> cliques;
  std::vector<Guard> guards;
  std::vector<Site> sites; // by `start`
  std::vector<Window> windows;
  bool operator==(const CommPlan &) const = default;
};

/// The groups of a clique, in a fixed order; for pairs one group, sorted.
std::vector<std::vector<int64_t>> groupsOf(const MeshCoordinates &coordinates,
                                           const CliqueSpec &clique);

/// The clique for these lists of ranks: all axes if there are no lists; a set of axes if it
/// generates exactly these groups, in any order; otherwise the lists themselves. Takes time linear
/// in the lists' length.
CliqueSpec cliqueSpecOf(const Mesh &mesh, std::vector<std::vector<int64_t>> groups);

/// The guards around a site, outermost first, each with the arm that contains the site.
using GuardPath = std::vector<std::pair<PlanIndex, uint32_t>>;
GuardPath pathOf(const CommPlan &plan, const Site &site);

/// Axes by name: "data, model".
std::string nameOf(const Mesh &mesh, AxisSet axes);
/// "data=2, model=4".
std::string describe(const Mesh &mesh);
/// "along model", "2 groups of ranks", "3 pairs".
std::string describe(const Mesh &mesh, const CliqueSpec &clique);
/// "all_reduce.3 (add f32, 4096 bytes, along model) at train.py:41".
std::string describe(const CommPlan &plan, const Site &site);

/// Validates a plan. A reader must call this; a producer may. Afterwards all indices are in range,
/// guards form a tree, positions are distinct and nested like the tree, lists contain each rank at
/// most once, and the sites of a collective are in different arms of a branch that depends only on
/// the rank.
///  - commPlanInvalid (E6011)
Status checkPlan(const CommPlan &plan);

} // namespace tilewright::collective

#endif // TILEWRIGHT_PLAN_COMMPLAN_H
