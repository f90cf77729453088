#include "tilewright/predict/FromExecutable.h"

#include "tilewright/artifact/StepCosts.h"
#include "tilewright/plan/PlanBytes.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

namespace tilewright::predict {

using collective::CliqueSpec;
using collective::CommPlan;
using collective::Guard;

namespace {

/// The name that tables and clusters give to a type of operands.
std::string_view tableType(numerics::ElementType type) {
  using numerics::ElementType;
  switch (type) {
  case ElementType::bf16:
    return "bf16";
  case ElementType::f16:
    return "f16";
  default:
    return numerics::bitWidth(type) <= 8 ? "f8" : "f32";
  }
}

/// How a rank takes part in a clique: 1 as a member or a source, 2 as a target.
std::map<int64_t, uint32_t> rolesIn(const CliqueSpec &clique) {
  std::map<int64_t, uint32_t> roles;
  for (const std::vector<int64_t> &list : clique.lists)
    for (size_t i = 0; i < list.size(); ++i)
      roles[list[i]] |= clique.form == CliqueSpec::Form::pairs && i == 1 ? 2 : 1;
  return roles;
}

} // namespace

RankClasses classesOf(const CommPlan &plan) {
  const numerics::MeshCoordinates coordinates(plan.mesh);
  const int64_t ranks = coordinates.ranks();
  std::vector<const Guard *> guards;
  for (const Guard &guard : plan.guards)
    if (!guard.choices.empty())
      guards.push_back(&guard);
  std::vector<std::map<int64_t, uint32_t>> roles;
  for (const CliqueSpec &clique : plan.cliques) {
    if (clique.form == CliqueSpec::Form::axes)
      continue;
    std::map<int64_t, uint32_t> own = rolesIn(clique);
    // A clique in which all ranks have the same role does not divide them into classes.
    const bool isUniform = static_cast<int64_t>(own.size()) == ranks &&
                           std::all_of(own.begin(), own.end(), [&](const auto &role) {
                             return role.second == own.begin()->second;
                           });
    if (!isUniform)
      roles.push_back(std::move(own));
  }
  if (guards.empty() && roles.empty())
    return {{0}, {ranks}};
  std::map<std::vector<uint32_t>, size_t> known;
  RankClasses classes;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::vector<uint32_t> key;
    for (const Guard *guard : guards)
      key.push_back(guard->choices[static_cast<size_t>(coordinates.along(guard->varies, rank))]);
    for (const auto &own : roles) {
      auto found = own.find(rank);
      key.push_back(found == own.end() ? 0 : found->second);
    }
    auto [found, isNew] = known.try_emplace(std::move(key), classes.sizes.size());
    if (isNew) {
      classes.representatives.push_back(rank);
      classes.sizes.push_back(0);
    }
    ++classes.sizes[found->second];
  }
  return classes;
}

GroupShape shapeOf(const Cluster &cluster, const CommPlan &plan, const CliqueSpec &clique) {
  const numerics::MeshCoordinates coordinates(plan.mesh);
  if (clique.form == CliqueSpec::Form::axes && plan.mesh.order.empty()) {
    std::vector<StridedAxis> axes;
    for (uint8_t axis : clique.axes)
      axes.push_back({plan.mesh.axes[axis].size, coordinates.stride(axis)});
    return shapeAlong(cluster, axes);
  }
  auto isWider = [](const GroupShape &a, const GroupShape &b) {
    return std::lexicographical_compare(b.counts.rbegin(), b.counts.rend(), a.counts.rbegin(),
                                        a.counts.rend());
  };
  GroupShape widest{std::vector<int64_t>(cluster.levels.size(), 1)};
  // Pairs are messages between two ranks each.
  for (const std::vector<int64_t> &group :
       clique.form == CliqueSpec::Form::pairs ? clique.lists : groupsOf(coordinates, clique))
    if (GroupShape shape = shapeOf(cluster, group); isWider(shape, widest))
      widest = std::move(shape);
  return widest;
}

namespace {

/// The collectives of an executable, and the loops and branches around them.
struct Counts {
  std::vector<size_t> starts; // by block, including the blocks that its steps run
  size_t guards = 0;

  explicit Counts(const artifact::Executable &executable) : starts(executable.blocks.size()) {
    if (!executable.blocks.empty())
      count(executable, 0);
  }

private:
  size_t count(const artifact::Executable &executable, artifact::Index block) {
    size_t sum = 0;
    for (const artifact::Step &step : executable.blocks[block].steps) {
      sum += std::holds_alternative<artifact::CollectiveStartStep>(step.action);
      size_t inside = 0;
      for (artifact::Index inner : blocksOf(step))
        inside += count(executable, inner);
      guards += inside > 0;
      sum += inside;
    }
    return starts[block] = sum;
  }
};

class Pricer {
public:
  Pricer(const artifact::Executable &executable, const Cluster &cluster, const CommPlan &plan,
         Counts counts)
      : executable(executable), cluster(cluster), plan(plan), counts(std::move(counts)),
        coordinates(plan.mesh), classes(classesOf(plan)) {
    costs = artifact::stepCostsOf(executable);
    if (costs.empty()) {
      remark("the executable has no step costs, so kernels are priced by their memory traffic; "
             "compile the program again");
      for (const artifact::Block &block : executable.blocks) {
        costs.emplace_back();
        for (const artifact::Step &step : block.steps)
          costs.back().push_back(artifact::costOf(executable, step));
      }
    }
    Program &program = result.program;
    for (const numerics::MeshAxis &axis : plan.mesh.axes)
      program.axes.push_back(axis.size);
    for (size_t i = 0; i < classes.sizes.size(); ++i)
      program.classes.push_back({classes.sizes.size() == 1
                                     ? "all ranks"
                                     : concat("ranks like ", classes.representatives[i]),
                                 classes.sizes[i]});
    addExchanges();
  }

  PricedProgram run() {
    std::vector<bool> all(classes.sizes.size(), true);
    addBlock(0, all, result.program.nodes);
    return std::move(result);
  }

private:
  void remark(std::string text) {
    if (std::find(result.remarks.begin(), result.remarks.end(), text) == result.remarks.end())
      result.remarks.push_back(std::move(text));
  }

  void addExchanges() {
    std::vector<GroupShape> shapes;
    for (const CliqueSpec &clique : plan.cliques)
      shapes.push_back(shapeOf(cluster, plan, clique));
    std::map<uint32_t, uint32_t> known; // by collectiveId
    for (const collective::Site &site : plan.sites) {
      auto [found, isNew] = known.try_emplace(
          site.collectiveId, static_cast<uint32_t>(result.program.exchanges.size()));
      exchangeOf.push_back(found->second);
      if (!isNew)
        continue;
      const CliqueSpec &clique = plan.cliques[site.clique];
      const GroupShape &shape = shapes[site.clique];
      Exchange exchange;
      exchange.name = site.name;
      exchange.lane = site.lane;
      exchange.ranks = shape.ranks();
      exchange.seconds =
          secondsOf(cluster, site.kind,
                    wholeBytes(site.kind, static_cast<double>(site.bytes), exchange.ranks), shape);
      for (size_t level = 0; level < shape.counts.size(); ++level)
        if (shape.counts[level] > 1)
          exchange.level = static_cast<uint32_t>(level);
      if (clique.form == CliqueSpec::Form::axes)
        for (uint8_t axis : clique.axes)
          exchange.axes |= numerics::AxisSet(1) << axis;
      result.program.exchanges.push_back(std::move(exchange));
    }
    if (result.program.classes.empty())
      return;
    // The classes that reach a site and are members of its clique.
    std::vector<std::map<int64_t, uint32_t>> roles;
    for (const CliqueSpec &clique : plan.cliques)
      roles.push_back(rolesIn(clique));
    takesPart.assign(plan.sites.size(), std::vector<bool>(classes.sizes.size()));
    for (size_t site = 0; site < plan.sites.size(); ++site) {
      const collective::GuardPath path = pathOf(plan, plan.sites[site]);
      for (uint32_t i = 0; i < classes.sizes.size(); ++i) {
        const int64_t rank = classes.representatives[i];
        const PlanIndex clique = plan.sites[site].clique;
        bool is = plan.cliques[clique].form == CliqueSpec::Form::axes || roles[clique].count(rank);
        for (auto [guard, arm] : path)
          is = is && takes(plan.guards[guard], rank, arm);
        takesPart[site][i] = is;
        auto &members = result.program.exchanges[exchangeOf[site]].classes;
        if (is && std::find(members.begin(), members.end(), i) == members.end())
          members.push_back(i);
      }
    }
  }
  using PlanIndex = collective::PlanIndex;

  bool takes(const Guard &guard, int64_t rank, uint32_t arm) const {
    return guard.choices.empty() ||
           guard.choices[static_cast<size_t>(coordinates.along(guard.varies, rank))] == arm;
  }

  /// The sequence of steps at the end of a list of nodes.
  Node &sequence(std::vector<Node> &nodes) {
    if (nodes.empty() || nodes.back().ops.empty())
      nodes.emplace_back().ops.resize(classes.sizes.size());
    return nodes.back();
  }
  void addOp(const Op &op, const std::vector<bool> &active, std::vector<Node> &into) {
    Node &node = sequence(into);
    for (size_t i = 0; i < active.size(); ++i)
      if (active[i])
        node.ops[i].push_back(op);
  }

  bool hasCollective(artifact::Index block) const { return counts.starts[block] > 0; }

  double secondsOfStep(const artifact::StepCost &cost) const {
    Work work;
    work.bytes = static_cast<double>(cost.bytes);
    if (cost.kind == artifact::StepCost::Class::product) {
      work.flops = static_cast<double>(cost.flops);
      work.batch = static_cast<double>(cost.batch);
      work.m = static_cast<double>(cost.m);
      work.n = static_cast<double>(cost.n);
      work.k = static_cast<double>(cost.k);
      work.type = tableType(cost.element);
    }
    return secondsOf(cluster, work);
  }

  void addBlock(artifact::Index block, const std::vector<bool> &active, std::vector<Node> &into) {
    const std::vector<artifact::Step> &steps = executable.blocks[block].steps;
    for (size_t i = 0; i < steps.size(); ++i) {
      const artifact::Step &step = steps[i];
      if (auto *start = std::get_if<artifact::CollectiveStartStep>(&step.action))
        addStart(start->id, active, into);
      else if (auto *done = std::get_if<artifact::CollectiveDoneStep>(&step.action))
        addDone(done->id, active, into);
      else if (auto *loop = std::get_if<artifact::WhileStep>(&step.action))
        addLoop(*loop, step, active, into);
      else if (auto *branch = std::get_if<artifact::BranchStep>(&step.action))
        addBranch(*branch, active, into);
      else
        addKernel(step, costs[block][i], active, into);
    }
  }

  void addKernel(const artifact::Step &step, const artifact::StepCost &cost,
                 const std::vector<bool> &active, std::vector<Node> &into) {
    if (cost.kind == artifact::StepCost::Class::call)
      remark(concat("the cost of custom call '", step.name,
                    "' is unknown; it is priced by its memory traffic"));
    auto [found, isNew] =
        nameIndex.try_emplace(step.name, static_cast<uint32_t>(result.program.names.size()));
    if (isNew)
      result.program.names.push_back(step.name);
    addOp({Op::Kind::compute, found->second, secondsOfStep(cost)}, active, into);
  }

  void addStart(uint32_t id, const std::vector<bool> &active, std::vector<Node> &into) {
    const size_t site = nextSite++;
    siteOfId[id] = site;
    addOp({Op::Kind::start, exchangeOf[site], 0}, both(active, takesPart[site]), into);
  }
  void addDone(uint32_t id, const std::vector<bool> &active, std::vector<Node> &into) {
    const size_t site = siteOfId[id];
    addOp({Op::Kind::done, exchangeOf[site], 0}, both(active, takesPart[site]), into);
  }
  static std::vector<bool> both(std::vector<bool> a, const std::vector<bool> &b) {
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = a[i] && b[i];
    return a;
  }

  void addLoop(const artifact::WhileStep &loop, const artifact::Step &step,
               const std::vector<bool> &active, std::vector<Node> &into) {
    if (hasCollective(loop.condition) || hasCollective(loop.body))
      ++nextGuard;
    Node node;
    addBlock(loop.condition, active, node.body);
    if (loop.tripCount >= 0) {
      node.body.clear(); // the runtime need not run the condition
      node.iterations = loop.tripCount;
    } else {
      remark(concat("the loop at ", step.location.empty() ? "an unknown place" : step.location,
                    " has an unknown number of iterations; it counts once"));
    }
    addBlock(loop.body, active, node.body);
    if (node.iterations > 0)
      into.push_back(std::move(node));
  }

  void addBranch(const artifact::BranchStep &branch, const std::vector<bool> &active,
                 std::vector<Node> &into) {
    const Guard *guard = nullptr;
    if (std::any_of(branch.blocks.begin(), branch.blocks.end(),
                    [&](artifact::Index block) { return hasCollective(block); }))
      guard = &plan.guards[nextGuard++];
    const bool isKnown = guard && !guard->choices.empty();
    std::vector<Node> dearest;
    double most = -1;
    for (uint32_t arm = 0; arm < branch.blocks.size(); ++arm) {
      std::vector<Node> inner;
      std::vector<bool> takers = active;
      for (size_t i = 0; i < takers.size() && isKnown; ++i)
        takers[i] = takers[i] && takes(*guard, classes.representatives[i], arm);
      addBlock(branch.blocks[arm], takers, isKnown ? into : inner);
      if (const double seconds = sum(inner); !isKnown && seconds > most) {
        most = seconds;
        dearest = std::move(inner);
      }
    }
    std::move(dearest.begin(), dearest.end(), std::back_inserter(into));
  }

  double sum(const std::vector<Node> &nodes) const {
    double seconds = 0;
    for (const Node &node : nodes) {
      double one = sum(node.body);
      for (const std::vector<Op> &ops : node.ops)
        for (const Op &op : ops)
          one +=
              op.kind == Op::Kind::start ? result.program.exchanges[op.index].seconds : op.seconds;
      seconds += one * static_cast<double>(node.iterations);
    }
    return seconds;
  }

  const artifact::Executable &executable;
  const Cluster &cluster;
  const CommPlan &plan;
  const Counts counts;
  const numerics::MeshCoordinates coordinates;
  const RankClasses classes;
  artifact::StepCosts costs;
  PricedProgram result;
  std::vector<uint32_t> exchangeOf;         // by site
  std::vector<std::vector<bool>> takesPart; // by site, then class
  std::unordered_map<std::string, uint32_t> nameIndex;
  std::unordered_map<uint32_t, size_t> siteOfId;
  // The plan lists both in program order, so their numbers correspond.
  size_t nextSite = 0, nextGuard = 0;
};

} // namespace

Result<PricedProgram> priceProgram(const artifact::Executable &executable, const Cluster &cluster) {
  const int64_t ranks = executable.replicas * executable.partitions;
  TILEWRIGHT_TRY(checkFits(cluster, ranks));
  CommPlan plan;
  plan.mesh.axes = {{"ranks", ranks}};
  if (!executable.communication.empty()) {
    TILEWRIGHT_ASSIGN(plan, collective::readPlan(executable.communication));
  }
  Counts counts(executable);
  const size_t starts = counts.starts.empty() ? 0 : counts.starts[0];
  if (starts != plan.sites.size() || counts.guards != plan.guards.size())
    return Status(Error::clusterMismatch,
                  concat("the executable has ", starts, " collectives in ", counts.guards,
                         " loops and branches, but its communication plan lists ",
                         plan.sites.size(), " in ", plan.guards.size(),
                         "; compile the program again"));
  return Pricer(executable, cluster, plan, std::move(counts)).run();
}

} // namespace tilewright::predict
