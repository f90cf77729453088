#include "tools/tilewright/pictures/CommPicture.h"

#include "tilewright/plan/ProgramTree.h"
#include "tilewright/support/Concat.h"
#include "tools/tilewright/pictures/Markup.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilewright::tools {
namespace {

using namespace collective;

constexpr const char *colours[] = {"#4c78a8", "#f58518", "#54a24b", "#b279a2",
                                   "#9d755d", "#72b7b2", "#eeca3b", "#ff9da6"};
constexpr int left = 90, top = 60, laneHeight = 22, rankGap = 8, stepWidth = 46;
constexpr size_t maxRanks = 16, maxSites = 60;

class Picture {
public:
  Picture(const CommPlan &plan, const Counterexample *found)
      : plan(plan), tree(plan), found(found) {
    chooseRanks();
    chooseSites();
    for (const Site &site : plan.sites)
      lanes = std::max(lanes, int(site.lane) + 1);
    for (const CliqueSpec &clique : plan.cliques)
      groups.push_back(groupsOf(tree.coordinates, clique));
  }

  std::string draw() {
    const int width = left + static_cast<int>(columns.size()) * stepWidth + 40,
              height = top + static_cast<int>(ranks.size()) * rankHeight() + 60;
    out = concat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", std::max(width, 640),
                 "\" height=\"", height,
                 "\" font-family=\"sans-serif\" font-size=\"11\">\n<defs><marker id=\"to\" "
                 "markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"4\" orient=\"auto\"><path "
                 "d=\"M0,0 L8,4 L0,8 z\" fill=\"#d62728\"/></marker></defs>\n<rect width=\"100%\" "
                 "height=\"100%\" fill=\"white\"/>\n");
    text(12, 22,
         concat(describe(plan.mesh), ": ", plan.sites.size(), " collectives, ",
                found ? "some ranks deadlock" : "proven free of deadlock"),
         found ? "#d62728" : "#222", 14);
    for (size_t i = 0; i < ranks.size(); ++i)
      drawRank(i);
    if (found)
      for (const Wait &wait : found->waits)
        drawArrow(wait);
    drawLegend(height - 24);
    return out + "</svg>\n";
  }

private:
  int rankHeight() const { return lanes * laneHeight + rankGap; }
  int rowOf(size_t rank, int lane) const {
    return top + static_cast<int>(rank) * rankHeight() + lane * laneHeight;
  }

  void chooseRanks() {
    std::set<int64_t> chosen;
    if (found)
      for (const Wait &wait : found->waits)
        chosen.insert({wait.rank, wait.forRank});
    for (int64_t rank = 0; rank < plan.mesh.size() && chosen.size() < maxRanks; ++rank)
      chosen.insert(rank);
    ranks.assign(chosen.begin(), chosen.end());
    if (ranks.size() > maxRanks && found)
      ranks.resize(maxRanks);
  }

  /// Chooses all sites, or those near the site where ranks wait.
  void chooseSites() {
    size_t first = 0;
    if (found && plan.sites.size() > maxSites) {
      first = plan.sites.size();
      for (const Wait &wait : found->waits)
        first = std::min<size_t>(first, wait.site);
      first -= std::min<size_t>(first, 5);
    }
    std::set<uint32_t> steps;
    for (size_t i = first; i < plan.sites.size() && i < first + maxSites; ++i)
      steps.insert({plan.sites[i].start, plan.sites[i].done});
    if (found)
      for (const Wait &wait : found->waits)
        steps.insert({plan.sites[wait.site].start, plan.sites[wait.site].done});
    for (uint32_t step : steps)
      columns.emplace(step, static_cast<int>(columns.size()));
  }

  bool takesPart(const Site &site, int64_t rank) const {
    if (!tree.takes(rank, tree.pathOf(site)))
      return false;
    for (const std::vector<int64_t> &group : groups[site.clique])
      if (std::find(group.begin(), group.end(), rank) != group.end())
        return true;
    return false;
  }

  void drawRank(size_t index) {
    const int64_t rank = ranks[index];
    text(12, rowOf(index, 0) + 14, concat("rank ", rank), "#222", 12);
    for (int lane = 0; lane < lanes; ++lane)
      out += concat("<line x1=\"", left, "\" x2=\"",
                    left + static_cast<int>(columns.size()) * stepWidth, "\" y1=\"",
                    rowOf(index, lane) + laneHeight - 3, "\" y2=\"",
                    rowOf(index, lane) + laneHeight - 3, "\" stroke=\"#ddd\"/>\n");
    for (PlanIndex i = 0; i < plan.sites.size(); ++i) {
      const Site &site = plan.sites[i];
      if (!columns.contains(site.start) || !columns.contains(site.done) || !takesPart(site, rank))
        continue;
      const bool isWaiting =
          found && std::any_of(found->waits.begin(), found->waits.end(), [&](const Wait &wait) {
            return wait.rank == rank && wait.site == i;
          });
      const int x = xOf(site.start), end = xOf(site.done) + stepWidth - 6;
      out += concat("<g><title>", escaped(describe(plan, site)), "</title><rect x=\"", x, "\" y=\"",
                    rowOf(index, site.lane), "\" width=\"", end - x, "\" height=\"", laneHeight - 5,
                    "\" rx=\"3\" fill=\"",
                    isWaiting ? "#d62728" : colours[site.clique % std::size(colours)],
                    "\" fill-opacity=\"", isWaiting ? "1" : "0.75", "\"/>");
      const size_t room = static_cast<size_t>(end - x) / 6;
      std::string name = site.name;
      if (name.size() > room)
        name = name.substr(0, room);
      out += concat("<text x=\"", x + 3, "\" y=\"", rowOf(index, site.lane) + 12,
                    "\" fill=\"white\">", escaped(name), "</text></g>\n");
    }
  }

  int xOf(uint32_t step) const { return left + columns.at(step) * stepWidth; }

  void drawArrow(const Wait &wait) {
    const auto from = std::find(ranks.begin(), ranks.end(), wait.rank) - ranks.begin(),
               to = std::find(ranks.begin(), ranks.end(), wait.forRank) - ranks.begin();
    if (static_cast<size_t>(from) == ranks.size() || static_cast<size_t>(to) == ranks.size())
      return;
    const Site &site = plan.sites[wait.site];
    const int x = xOf(site.done) + stepWidth - 6,
              y = rowOf(static_cast<size_t>(from), site.lane) + 9;
    // The arrow leads to the end of the bar in which the other rank waits, or to where its bar
    // would be. It leaves to the right and arrives from the right, so its head points at the row.
    int toX = xOf(site.start) + 4, toY = rowOf(static_cast<size_t>(to), 0) + 9;
    for (const Wait &other : found->waits)
      if (other.rank == wait.forRank) {
        toX = xOf(plan.sites[other.site].done) + stepWidth - 6;
        toY = rowOf(static_cast<size_t>(to), plan.sites[other.site].lane) + 9;
      }
    const int bend = std::max(x, toX) + 34;
    out += concat("<path d=\"M", x, ",", y, " C", bend, ",", y, " ", bend, ",", toY, " ", toX, ",",
                  toY,
                  "\" fill=\"none\" stroke=\"#d62728\" stroke-width=\"2\" "
                  "marker-end=\"url(#to)\"/>\n");
  }

  void drawLegend(int y) {
    int x = 12;
    for (size_t i = 0; i < plan.cliques.size() && i < 8; ++i) {
      const std::string label = describe(plan.mesh, plan.cliques[i]);
      out += concat("<rect x=\"", x, "\" y=\"", y - 9, "\" width=\"11\" height=\"11\" fill=\"",
                    colours[i % std::size(colours)], "\"/>");
      text(x + 16, y, label, "#222", 11);
      x += 40 + static_cast<int>(label.size()) * 6;
    }
  }

  void text(int x, int y, const std::string &words, const char *colour, int size) {
    out += concat("<text x=\"", x, "\" y=\"", y, "\" fill=\"", colour, "\" font-size=\"", size,
                  "\">", escaped(words), "</text>\n");
  }

  const CommPlan &plan;
  const ProgramTree tree;
  const Counterexample *found;
  std::vector<int64_t> ranks;
  std::map<uint32_t, int> columns; // by step
  std::vector<std::vector<std::vector<int64_t>>> groups;
  int lanes = 1;
  std::string out;
};

} // namespace

std::string communicationPicture(const CommPlan &plan,
                                 const std::variant<Proof, Counterexample> &verdict) {
  return Picture(plan, std::get_if<Counterexample>(&verdict)).draw();
}

} // namespace tilewright::tools
