#include "tilewright/plan/PlanBytes.h"

#include "tilewright/support/Archive.h"

namespace tilewright::collective {
namespace {

/// Increase this with every change to fields(); readers accept only their own version.
constexpr uint64_t planVersion = 1;

class Writer : public ByteWriter {
public:
  void name(Kind value) { text(std::string(nameOf(value))); }
  void name(ReductionKind value) { text(std::string(nameOf(value))); }
  template <typename T, typename Each>
  void list(const std::vector<T> &items, const char *, size_t, Each each) {
    number(items.size());
    for (const T &item : items)
      each(*this, item);
  }
};

class Reader : public ByteReader {
public:
  explicit Reader(std::span<const std::byte> bytes)
      : ByteReader(bytes, "the communication plan", Error::commPlanEncoding,
                   "compile the program again") {}

  void name(Kind &value) { find(value, numerics::collectiveNamed, "collective"); }
  void name(ReductionKind &value) { find(value, numerics::reductionNamed, "reduction"); }
  template <typename T, typename Each>
  void list(std::vector<T> &items, const char *things, size_t bytesEach, Each each) {
    const size_t count = cursor.count(things, bytesEach);
    items.reserve(count);
    for (size_t i = 0; i < count && !cursor.failed(); ++i)
      each(*this, items.emplace_back());
  }

private:
  template <typename T>
  void find(T &value, std::optional<T> (*named)(std::string_view), const char *what) {
    std::string name;
    text(name);
    if (std::optional<T> known = named(name))
      value = *known;
    else
      cursor.fail(concat("has an unknown ", what, " '", name, "'"));
  }
};

constexpr auto asNumber = [](auto &archive, auto &value) { archive.number(value); };
constexpr auto asInteger = [](auto &archive, auto &value) { archive.integer(value); };

template <typename A> void fields(A &a, Field<A, Mesh> &mesh) {
  a.list(mesh.axes, "axes", 2, [](A &a, Field<A, MeshAxis> &axis) {
    a.text(axis.name);
    a.integer(axis.size);
  });
  a.list(mesh.order, "ranks", 1, asInteger);
}
template <typename A> void fields(A &a, Field<A, CliqueSpec> &clique) {
  a.enumeration(clique.form, 3);
  a.list(clique.axes, "axes", 1, asNumber);
  a.list(clique.lists, "lists", 1,
         [](A &a, Field<A, std::vector<int64_t>> &list) { a.list(list, "ranks", 1, asInteger); });
}
template <typename A> void fields(A &a, Field<A, Guard> &guard) {
  a.enumeration(guard.kind, 2);
  a.number(guard.parent);
  a.number(guard.arm);
  a.number(guard.position);
  a.number(guard.arms);
  a.integer(guard.tripCount);
  a.number(guard.varies);
  a.list(guard.choices, "choices", 1, asNumber);
  a.text(guard.location);
}
template <typename A> void fields(A &a, Field<A, Site> &site) {
  a.name(site.kind);
  a.enumeration(site.element, numerics::elementTypeCount);
  a.name(site.reduction);
  a.integer(site.bytes);
  a.enumeration(site.algorithm, algorithmCount);
  a.number(site.lane);
  a.number(site.collectiveId);
  a.number(site.clique);
  a.number(site.guard);
  a.number(site.arm);
  a.number(site.start);
  a.number(site.done);
  a.text(site.name);
  a.text(site.location);
}
template <typename A> void fields(A &a, Field<A, Window> &window) {
  a.number(window.clique);
  a.integer(window.bytes);
  a.integer(window.alignment);
}
template <typename A> void fields(A &a, Field<A, CommPlan> &plan) {
  constexpr auto each = [](auto &archive, auto &item) { fields(archive, item); };
  fields(a, plan.mesh);
  a.list(plan.cliques, "cliques", 3, each);
  a.list(plan.guards, "guards", 9, each);
  a.list(plan.sites, "sites", 24, each);
  a.list(plan.windows, "windows", 3, each);
}

/// The index of the first item in which two lists differ; the size of the shorter list if there is
/// none.
template <typename T> size_t firstUnequal(const std::vector<T> &a, const std::vector<T> &b) {
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i])
    ++i;
  return i;
}

/// Also describes the fields in which two sites with the same description can differ.
std::string details(const CommPlan &plan, const Site &site) {
  std::string text = concat(describe(plan, site), ", collective id ", site.collectiveId, ", lane ",
                            int(site.lane), ", steps ", site.start, " to ", site.done);
  if (site.guard != nothing)
    text += concat(", in guard ", site.guard, " arm ", site.arm);
  return text;
}

} // namespace

std::vector<std::byte> writePlan(const CommPlan &plan) {
  Writer writer;
  writer.number(planVersion);
  fields(writer, plan);
  return std::move(writer.out);
}

Result<CommPlan> readPlan(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  if (const uint64_t version = reader.cursor.number(); version != planVersion)
    reader.cursor.fail(concat("has version ", version, ", but this build reads ", planVersion));
  CommPlan plan;
  fields(reader, plan);
  TILEWRIGHT_TRY(reader.finish());
  TILEWRIGHT_TRY(checkPlan(plan));
  return plan;
}

Fingerprint fingerprintOf(const CommPlan &plan) {
  return tilewright::fingerprintOf(std::span<const std::byte>(writePlan(plan)));
}

std::string firstDifference(const CommPlan &a, const CommPlan &b, const std::string &mine,
                            const std::string &theirs) {
  if (a == b)
    return "";
  if (a.mesh != b.mesh)
    return concat(mine, " has the mesh ", describe(a.mesh), ", ", theirs, " has ", describe(b.mesh),
                  a.mesh.axes == b.mesh.axes ? " with the ranks in another order" : "");
  // Compare sites first, because they have names and source lines. Report a different clique or
  // guard only if all sites are equal.
  const size_t site = firstUnequal(a.sites, b.sites);
  auto siteText = [&](const CommPlan &plan) {
    return site < plan.sites.size() ? details(plan, plan.sites[site]) : "absent";
  };
  if (site < a.sites.size() || site < b.sites.size())
    return concat("collective ", site, " differs: ", siteText(a), " on ", mine, ", ", siteText(b),
                  " on ", theirs);
  const size_t guard = firstUnequal(a.guards, b.guards);
  auto guardText = [&](const CommPlan &plan) {
    if (guard >= plan.guards.size())
      return std::string("absent");
    const Guard &g = plan.guards[guard];
    return concat(g.kind == Guard::Kind::loop ? "a loop" : "a branch",
                  g.location.empty() ? "" : concat(" at ", g.location), " at step ", g.position,
                  ", ", g.tripCount, " iterations, ", g.arms, " arms, varies along [",
                  nameOf(plan.mesh, g.varies), "]");
  };
  if (guard < a.guards.size() || guard < b.guards.size())
    return concat("guard ", guard, " differs: ", guardText(a), " on ", mine, ", ", guardText(b),
                  " on ", theirs);
  const size_t clique = firstUnequal(a.cliques, b.cliques);
  auto cliqueText = [&](const CommPlan &plan) {
    return clique < plan.cliques.size() ? describe(plan.mesh, plan.cliques[clique]) : "absent";
  };
  if (clique < a.cliques.size() || clique < b.cliques.size())
    return concat("clique ", clique, " differs: ", cliqueText(a), " on ", mine, ", ", cliqueText(b),
                  " on ", theirs);
  return concat(mine, " and ", theirs, " have different windows");
}

} // namespace tilewright::collective
