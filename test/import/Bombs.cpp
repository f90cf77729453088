// A thousand malicious artifacts. Each declares, implies or nests far more than its bytes contain,
// and must end in one particular error, within a second of CPU time and 512 MB.
//
//   Bombs [--only=N]      runs them, each in a process of its own

#include "tilewright/import/bytecode/Reader.h"
#include "tilewright/import/bytecode/testing/RawArtifact.h"
#include "tilewright/support/testing/Slowness.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace tilewright;
using namespace tilewright::bytecode;
using R = RawArtifact;

namespace {

struct Bomb {
  std::string name;
  Error error;
  /// Called only in the child process that reads the artifact.
  std::function<std::string()> make;
};

#if __has_feature(address_sanitizer)
constexpr int slack = 4; // sanitizers need memory of their own
#else
constexpr int slack = 1;
#endif
constexpr size_t memoryLimit = slack * (size_t(512) << 20);
const int secondsLimit = tilewright::slowness();

/// Numbers far beyond the size of any file, and just beyond that of a small one.
const std::vector<uint64_t> hugeNumbers = {1000,
                                           65536,
                                           1u << 20,
                                           1u << 24,
                                           1u << 30,
                                           1u << 31,
                                           UINT32_MAX - 1,
                                           UINT32_MAX,
                                           uint64_t(1) << 32,
                                           uint64_t(1) << 40,
                                           uint64_t(1) << 48,
                                           uint64_t(1) << 56,
                                           uint64_t(1) << 62,
                                           uint64_t(1) << 63,
                                           UINT64_MAX};

class BombList {
public:
  std::vector<Bomb> bombs;

  void add(std::string name, Error error, std::function<std::string()> make) {
    bombs.push_back({std::move(name), error, std::move(make)});
  }
  /// Adds the sample artifact with a change.
  void changed(std::string name, Error error, std::function<void(RawArtifact &)> change) {
    add(std::move(name), error, [change] {
      RawArtifact artifact = R::sample();
      change(artifact);
      return artifact.encode();
    });
  }

  void shapes();
  void splats();
  void counts();
  void sections();
  void deepEntries();
  void cycles();
  void deepRegions();
  void operations();
  void strings();
  void properties();
  void useLists();
  void integers();
};

Bytes tensorType(const std::vector<int64_t> &dims, uint64_t element = R::f32) {
  Bytes bytes = Bytes().varint(20).varint(dims.size());
  for (int64_t size : dims)
    bytes.signedVarint(size);
  return bytes.varint(element);
}

/// Shapes whose product overflows, exceeds the limit, or that have too many dimensions.
void BombList::shapes() {
  for (int64_t first : {int64_t(1) << 31, int64_t(1) << 32, int64_t(1) << 40, int64_t(1) << 62,
                        INT64_MAX, int64_t(4294967297), int64_t(3037000500)})
    for (int64_t rank = 2; rank <= 8; ++rank)
      changed("overflowing shape " + std::to_string(first) + "^" + std::to_string(rank),
              Error::shapeInvalid, [=](RawArtifact &a) {
                a.type(R::vhlo, tensorType(std::vector<int64_t>(size_t(rank), first)));
              });
  for (int64_t power = 49; power <= 58; ++power)
    changed("2^" + std::to_string(power) + " elements", Error::limitElements,
            [=](RawArtifact &a) { a.type(R::vhlo, tensorType({int64_t(1) << power})); });
  for (size_t rank : {65u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u})
    for (int64_t size : {0, 1, 2})
      changed(
          "rank " + std::to_string(rank) + " of " + std::to_string(size), Error::limitRank,
          [=](RawArtifact &a) { a.type(R::vhlo, tensorType(std::vector<int64_t>(rank, size))); });
  for (int64_t size : {int64_t(-1), int64_t(-2), INT64_MIN + 1, int64_t(-1) << 40})
    for (uint64_t code : {20, 41})
      changed("negative size " + std::to_string(size) + " code " + std::to_string(code),
              Error::shapeInvalid, [=](RawArtifact &a) {
                a.type(R::vhlo, Bytes().varint(code).varint(1).signedVarint(size).varint(R::f32));
              });
}

/// Constants whose shape requires far more bytes than they have.
void BombList::splats() {
  for (int64_t count : {int64_t(1000000000000), int64_t(1) << 40, int64_t(1) << 47})
    for (size_t size : {0u, 1u, 2u, 3u, 5u, 8u, 100u, 4096u, 1000000u}) {
      changed(std::to_string(count) + " f32 in " + std::to_string(size) + " bytes",
              Error::literalSize, [=](RawArtifact &a) {
                uint64_t type = a.type(R::vhlo, tensorType({count}));
                a.attr(R::vhlo, Bytes().varint(15).varint(type).blob(std::string(size, 'x')));
              });
      if (size != 1)
        changed(std::to_string(count) + " i1 in " + std::to_string(size) + " bytes",
                Error::literalSize, [=](RawArtifact &a) {
                  uint64_t i1 = a.type(R::vhlo, Bytes().varint(0));
                  uint64_t type = a.type(R::vhlo, tensorType({count}, i1));
                  a.attr(R::vhlo, Bytes().varint(15).varint(type).blob(std::string(size, 'x')));
                });
    }
  for (uint64_t size : hugeNumbers)
    changed("literal of " + std::to_string(size) + " bytes", Error::artifactTruncated,
            [=](RawArtifact &a) {
              a.attr(R::vhlo, Bytes().varint(15).varint(R::tensor).varint(size));
            });
  // A splat of 10^12 elements whose literal is one element too long.
  for (int64_t rank = 1; rank <= 12; ++rank)
    changed("splat of 10^12 in rank " + std::to_string(rank) + ", one byte long",
            Error::literalSize, [=](RawArtifact &a) {
              std::vector<int64_t> dims(size_t(rank), 1);
              dims[0] = 1000000;
              dims[size_t(rank) - 1] *= 1000000;
              a.attr(R::vhlo,
                     Bytes().varint(15).varint(a.type(R::vhlo, tensorType(dims))).blob("x"));
            });
}

/// Lists that declare more elements than their bytes hold.
void BombList::counts() {
  struct Place {
    const char *name;
    uint64_t dialect;
    Bytes before;
    bool isType;
  };
  const std::vector<Place> places = {
      {"array", R::vhlo, Bytes().varint(1), false},
      {"dictionary", R::vhlo, Bytes().varint(6), false},
      {"aliases", R::vhlo, Bytes().varint(10), false},
      {"bounds", R::vhlo, Bytes().varint(18), false},
      {"builtin array", R::builtin, Bytes().varint(0), false},
      {"builtin dictionary", R::builtin, Bytes().varint(1), false},
      {"fused location", R::builtin, Bytes().varint(12), false},
      {"manual axes", R::sdy, Bytes().varint(0), false},
      {"mesh", R::sdy, Bytes().varint(2), false},
      {"sharding rule", R::sdy, Bytes().varint(10), false},
      {"tuple", R::vhlo, Bytes().varint(23), true},
      {"function", R::vhlo, Bytes().varint(8), true},
      {"future", R::vhlo, Bytes().varint(42), true},
      {"tensor", R::vhlo, Bytes().varint(20), true},
      {"buffer", R::vhlo, Bytes().varint(41), true},
      {"builtin tuple", R::builtin, Bytes().varint(15), true},
  };
  for (const Place &place : places)
    for (uint64_t count : hugeNumbers)
      changed(std::string(place.name) + " of " + std::to_string(count), Error::countTooLarge,
              [=](RawArtifact &a) {
                Bytes bytes = Bytes(place.before).varint(count);
                place.isType ? a.type(place.dialect, bytes) : a.attr(place.dialect, bytes);
              });
}

/// Tables that declare more than their section holds.
void BombList::sections() {
  for (uint64_t count : hugeNumbers) {
    auto with = [this, count](const char *name, Error error, unsigned section, Bytes content) {
      add(std::string(name) + " " + std::to_string(count), error, [section, content] {
        RawArtifact a = R::sample();
        Bytes out = a.header();
        const Bytes parts[] = {a.stringSection(), a.dialectSection(), a.entrySection(),
                               a.entrySizeSection(), a.ir};
        for (unsigned id = 0; id < 5; ++id)
          out.section(id, id == section ? content : parts[id]);
        out.section(8, section == 8 ? content : a.propertySection());
        return std::move(out.data);
      });
    };
    with("strings", Error::countTooLarge, 0, Bytes().varint(count));
    with("string of size", Error::stringTable, 0, Bytes().varint(1).varint(count).raw("ab"));
    with("dialects", Error::countTooLarge, 1, Bytes().varint(count));
    with("operation names", Error::countTooLarge, 1, Bytes().varint(0).varint(count));
    with("attributes", Error::countTooLarge, 3, Bytes().varint(count).varint(0));
    with("types", Error::countTooLarge, 3, Bytes().varint(0).varint(count));
    with("property lists", Error::countTooLarge, 8, Bytes().varint(count));
    with("property list of size", Error::artifactTruncated, 8, Bytes().varint(1).varint(count));
    with("top-level operations", Error::moduleRoot, 4,
         Bytes().flagged(count & ~uint64_t(1) >> 1, false));
    add("section of size " + std::to_string(count), Error::artifactTruncated,
        [count] { return R::sample().header().byte(4).varint(count).data; });
  }
  for (unsigned power = 6; power < 64; ++power)
    add("section aligned to 2^" + std::to_string(power), Error::artifactTruncated, [power] {
      return R::sample()
          .header()
          .byte(0x84)
          .varint(1)
          .varint(uint64_t(1) << power)
          .raw("\xCB")
          .data;
    });
}

/// Chains of 10^5 attributes, locations and types.
void BombList::deepEntries() {
  for (size_t depth : {257u, 1000u, 10000u, 100000u, 300000u})
    for (bool forward : {false, true}) {
      auto chain = [=, this](const char *name, uint64_t dialect, bool isType, auto link) {
        changed(std::string(name) + " nested " + std::to_string(depth) +
                    (forward ? " forward" : " back"),
                Error::limitNesting, [=](RawArtifact &a) {
                  uint64_t base = isType ? a.types.size() : a.attrs.size();
                  for (uint64_t i = 0; i < depth; ++i) {
                    // The chain ends at entry 0, a leaf.
                    uint64_t next =
                        forward ? (i + 1 < depth ? base + i + 1 : 0) : (i > 0 ? base + i - 1 : 0);
                    isType ? a.type(dialect, link(next)) : a.attr(dialect, link(next));
                  }
                });
      };
      chain("arrays", R::vhlo, false, [](uint64_t n) { return Bytes().varint(1).list({n}); });
      chain("builtin arrays", R::builtin, false,
            [](uint64_t n) { return Bytes().varint(0).list({n}); });
      chain("call sites", R::builtin, false,
            [](uint64_t n) { return Bytes().varint(10).varint(n).varint(0); });
      chain("callers", R::builtin, false,
            [](uint64_t n) { return Bytes().varint(10).varint(0).varint(n); });
      chain("fused locations", R::builtin, false,
            [](uint64_t n) { return Bytes().varint(12).list({n, n}); });
      chain("tuples", R::vhlo, true, [](uint64_t n) { return Bytes().varint(23).list({n}); });
      chain("functions", R::vhlo, true,
            [](uint64_t n) { return Bytes().varint(8).list({n}).list({n}); });
      chain("futures", R::vhlo, true, [](uint64_t n) { return Bytes().varint(42).list({n, n}); });
      chain("builtin tuples", R::builtin, true,
            [](uint64_t n) { return Bytes().varint(15).list({n, n, n}); });
    }
}

/// Entries that contain themselves, directly or through other entries.
void BombList::cycles() {
  for (uint64_t length : {1, 2, 3, 10, 100, 255})
    for (uint64_t copies : {1, 7, 100})
      for (bool isType : {false, true})
        changed("cycle of " + std::to_string(length) + (isType ? " types" : " attributes") + ", " +
                    std::to_string(copies) + " times",
                Error::entryCycle, [=](RawArtifact &a) {
                  uint64_t base = isType ? a.types.size() : a.attrs.size();
                  for (uint64_t i = 0; i < length; ++i) {
                    Bytes bytes = Bytes().varint(isType ? 23 : 1).varint(copies);
                    for (uint64_t c = 0; c < copies; ++c)
                      bytes.varint(base + (i + 1) % length);
                    isType ? a.type(R::vhlo, bytes) : a.attr(R::vhlo, bytes);
                  }
                });
}

/// Adds a body of `ops` operations without values to @main, without copying it repeatedly.
std::string withBody(RawArtifact &a, const std::string &body, uint64_t ops, uint64_t values = 1) {
  Bytes region = Bytes()
                     .varint(1)
                     .varint(values)
                     .flagged(ops, true)
                     .varint(1)
                     .flagged(R::tensor, false)
                     .byte(0);
  region.raw(body);
  Bytes func =
      RawOp{
          .name = R::funcOp, .properties = 0, .regionCount = 1, .isolated = true, .regions = region}
          .encode();
  a.ir = Bytes().flagged(1, false).append(RawOp{
      .name = R::moduleOp, .regionCount = 1, .isolated = true, .regions = rawRegion(0, {}, {func})}
                                              .encode());
  return a.encode();
}

/// Nests of up to 10^5 regions, isolated and not, complete and truncated.
void BombList::deepRegions() {
  for (uint64_t depth : {255, 1000, 10000, 100000, 1000000})
    for (bool closed : {true, false})
      add("regions nested " + std::to_string(depth) + (closed ? " closed" : " open"),
          Error::limitNesting, [=] {
            RawArtifact a = R::sample();
            uint64_t caseOp = a.name(R::vhlo, "case_v1");
            Bytes open = Bytes().varint(caseOp).byte(0x14).varint(0).list({0}).flagged(1, false);
            open.varint(1).varint(0).flagged(1, false);
            std::string body;
            for (uint64_t i = 0; i < depth; ++i)
              body += open.data;
            if (closed)
              body += R::ret(0).data;
            return withBody(a, body, 1);
          });
  for (uint64_t depth : {256, 1000, 4000})
    add("modules nested " + std::to_string(depth), Error::limitNesting, [=] {
      RawArtifact a = R::sample();
      Bytes inner = rawRegion(0, {}, {});
      for (uint64_t i = 0; i < depth; ++i)
        inner = rawRegion(
            0, {},
            {RawOp{.name = R::moduleOp, .regionCount = 1, .isolated = true, .regions = inner}
                 .encode()});
      a.ir = Bytes().flagged(1, false).append(
          RawOp{.name = R::moduleOp, .regionCount = 1, .isolated = true, .regions = inner}
              .encode());
      return a.encode();
    });
  // Each level of a nest declares as many values as bytes are left.
  for (uint64_t depth : {2, 10, 100, 200})
    for (uint64_t padding : {1000, 100000, 10000000})
      add("values announced " + std::to_string(depth) + " times over " + std::to_string(padding) +
              " bytes",
          Error::countTooLarge, [=] {
            RawArtifact a = R::sample();
            uint64_t caseOp = a.name(R::vhlo, "case_v1");
            std::string body;
            for (uint64_t i = 0; i < depth; ++i)
              body += Bytes()
                          .varint(caseOp)
                          .byte(0x14)
                          .varint(0)
                          .list({0})
                          .flagged(1, false)
                          .varint(1)
                          .varint(padding)
                          .flagged(1, false)
                          .data;
            body += std::string(padding, '\1');
            return withBody(a, body, 1);
          });
}

/// Operations that declare too much, and too many operations.
void BombList::operations() {
  // An operation up to the number of its regions, and one up to the operations of its only block.
  const Bytes withRegions = Bytes().varint(5).byte(0x14).varint(0).list({0});
  const Bytes emptyBlock = Bytes(withRegions).flagged(1, false).varint(1).varint(0);
  for (uint64_t count : hugeNumbers) {
    auto op = [this, count](const char *name, Error error, Bytes bytes) {
      add(std::string(name) + " " + std::to_string(count), error, [bytes] {
        RawArtifact a = R::sample();
        a.name(R::vhlo, "case_v1");
        return withBody(a, bytes.data, 1);
      });
    };
    op("operands", Error::countTooLarge,
       Bytes().varint(R::returnOp).byte(4).varint(0).varint(count));
    op("results", Error::countTooLarge, Bytes().varint(R::addOp).byte(2).varint(0).varint(count));
    op("regions", Error::countTooLarge, Bytes(withRegions).flagged(count >> 1, false));
    op("blocks", Error::regionBlocks, Bytes(withRegions).flagged(1, false).varint(count));
    op("values", Error::countTooLarge,
       Bytes(withRegions).flagged(1, false).varint(1).varint(count));
    op("operations", Error::countTooLarge, Bytes(emptyBlock).flagged(count >> 1, false));
    op("arguments", Error::countTooLarge, Bytes(emptyBlock).flagged(0, true).varint(count));
    op("value number", Error::valueIndex,
       Bytes().varint(R::returnOp).byte(4).varint(0).list({count}));
    op("location", Error::attrIndex, Bytes().varint(R::returnOp).byte(4).varint(count));
    op("dictionary", Error::attrIndex, Bytes().varint(R::returnOp).byte(5).varint(0).varint(count));
    op("property list", Error::propertyIndex,
       Bytes().varint(R::returnOp).byte(0x44).varint(0).varint(count));
    op("name", Error::opNameIndex, Bytes().varint(count).byte(0).varint(0));
  }
  add("more operations than allowed", Error::limitOps, [=] {
    RawArtifact a = R::sample();
    const uint64_t ops = static_cast<uint64_t>(ImportOptions().maxOps) + 1;
    std::string one = Bytes().varint(R::returnOp).byte(0).varint(0).data, body;
    body.reserve(ops * one.size());
    for (uint64_t i = 0; i < ops; ++i)
      body += one;
    return withBody(a, body, ops);
  });
}

void BombList::strings() {
  for (uint64_t count : {1000, 100000, 1000000}) {
    changed(std::to_string(count) + " unknown operation names", Error::opUnknown,
            [=](RawArtifact &a) {
              uint64_t name = a.string("no_such_operation_v1");
              for (uint64_t i = 0; i < count; ++i)
                a.names.push_back({R::vhlo, name});
            });
    // Keys that differ only at their end, so that each comparison is slow.
    changed(std::to_string(count) + " keys with a long common beginning", Error::dictionaryOrder,
            [=](RawArtifact &a) {
              std::string stem(1000000, 'k');
              uint64_t first = a.attr(R::builtin, Bytes().varint(2).varint(a.string(stem + "a")));
              uint64_t second = a.attr(R::builtin, Bytes().varint(2).varint(a.string(stem + "b")));
              for (uint64_t i = 0; i < count / 10; ++i)
                a.attr(
                    R::builtin,
                    Bytes().varint(1).varint(2).varint(first).varint(0).varint(second).varint(0));
              a.attr(R::builtin,
                     Bytes().varint(1).varint(2).varint(second).varint(0).varint(first).varint(0));
            });
  }
  for (size_t size : {1000u, 1000000u, 60000000u}) {
    changed("operation name of " + std::to_string(size), Error::opUnknown,
            [=](RawArtifact &a) { a.name(R::vhlo, std::string(size, 'n')); });
    changed("dialect name of " + std::to_string(size), Error::dialectUnknown, [=](RawArtifact &a) {
      a.dialects.push_back(a.string(std::string(size, 'd')));
      a.attr(3, Bytes().varint(0));
    });
    changed("producer of " + std::to_string(size), Error::producerUnknown,
            [=](RawArtifact &a) { a.producer = std::string(size, 'p'); });
  }
}

void BombList::properties() {
  for (uint64_t extra : {1, 2, 100, 10000, 1000000, 10000000})
    changed("property list with " + std::to_string(extra) + " attributes too many",
            Error::opProperties,
            [=](RawArtifact &a) { a.properties[1].raw(std::string(extra, '\1')); });
  // Many operations share a long list whose last element is invalid.
  for (uint64_t ops : {10, 1000, 100000})
    add(std::to_string(ops) + " operations and one long property list", Error::opProperties, [=] {
      RawArtifact a = R::sample();
      a.properties[1].raw(std::string(1000000, '\1'));
      std::string body;
      for (uint64_t i = 0; i < ops; ++i)
        body += R::constant().data;
      return withBody(a, body, ops, ops + 1);
    });
  for (uint64_t dictionarySize : {10, 1000, 100000})
    changed(
        "old dictionary of " + std::to_string(dictionarySize) + " without what is needed",
        Error::opProperties, [=](RawArtifact &a) {
          a.version = 4;
          a.producer = "StableHLO_v0.14.0";
          Bytes pairs = Bytes().varint(1).varint(dictionarySize);
          for (uint64_t i = 0; i < dictionarySize; ++i) {
            std::string digits = std::to_string(1000000 + i);
            pairs.varint(a.attr(R::builtin, Bytes().varint(2).varint(a.string(digits)))).varint(0);
          }
          int dictionary = static_cast<int>(a.attr(R::builtin, pairs));
          Bytes func = RawOp{.name = R::funcOp, .attributes = dictionary}.encode();
          a.ir = Bytes().flagged(1, false).append(RawOp{.name = R::moduleOp,
                                                        .regionCount = 1,
                                                        .isolated = true,
                                                        .regions = rawRegion(0, {}, {func})}
                                                      .encode());
        });
}

void BombList::useLists() {
  for (uint64_t count : hugeNumbers) {
    add("use-list of " + std::to_string(count), Error::countTooLarge, [=] {
      RawArtifact a = R::sample();
      Bytes op = Bytes()
                     .varint(R::addOp)
                     .byte(0x26)
                     .varint(0)
                     .list({R::tensor})
                     .list({0, 0})
                     .flagged(count >> 1, false);
      return withBody(a, op.data, 1, 2);
    });
    add("use-list orders for " + std::to_string(count) + " results", Error::countTooLarge, [=] {
      RawArtifact a = R::sample();
      uint64_t call = a.name(R::vhlo, "optimization_barrier_v1");
      Bytes op =
          Bytes().varint(call).byte(0x22).varint(0).list({R::tensor, R::tensor}).varint(count);
      return withBody(a, op.data, 1, 3);
    });
    add("use-list order for result " + std::to_string(count), Error::useListOrder, [=] {
      RawArtifact a = R::sample();
      uint64_t call = a.name(R::vhlo, "optimization_barrier_v1");
      Bytes op = Bytes()
                     .varint(call)
                     .byte(0x22)
                     .varint(0)
                     .list({R::tensor, R::tensor})
                     .varint(1)
                     .varint(count)
                     .raw("....");
      return withBody(a, op.data, 1, 3);
    });
  }
}

void BombList::integers() {
  for (uint64_t width : {uint64_t(1) << 24, uint64_t(1) << 32, uint64_t(1) << 60, uint64_t(0)})
    for (uint64_t sign : {0, 1, 2})
      changed("integer of " + std::to_string(width) + " bits, sign " + std::to_string(sign),
              Error::integerWidth, [=](RawArtifact &a) {
                a.type(R::builtin, Bytes().varint(0).varint(width << 2 | sign));
              });
  for (uint64_t words : hugeNumbers)
    changed("integer of " + std::to_string(words) + " words", Error::countTooLarge,
            [=](RawArtifact &a) {
              uint64_t wide = a.type(R::builtin, Bytes().varint(0).varint(uint64_t(16777215) << 2));
              a.attr(R::builtin, Bytes().varint(8).varint(wide).varint(words));
            });
}

/// Runs one bomb in a child process; returns what went wrong, or nothing.
std::string explode(const Bomb &bomb, double &slowest, long &largest) {
  int channel[2];
  if (pipe(channel) != 0)
    return "no pipe";
  pid_t child = fork();
  if (child == 0) {
    std::string bytes = bomb.make();
    // The file's own bytes do not count as the reader's memory.
    rlimit memory{memoryLimit + bytes.capacity(), memoryLimit + bytes.capacity()};
#if !__has_feature(address_sanitizer) // which reserves terabytes
    setrlimit(RLIMIT_DATA, &memory);
#endif
    const rlim_t most = static_cast<rlim_t>(secondsLimit) + 60;
    rlimit seconds{most, most};
    setrlimit(RLIMIT_CPU, &seconds);
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    Status status = read(std::as_bytes(std::span(bytes)), ImportOptions()).takeStatus();
    getrusage(RUSAGE_SELF, &after);
    auto micros = [](const rusage &r) {
      return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000l + r.ru_utime.tv_usec +
             r.ru_stime.tv_usec;
    };
    char line[512];
    int size =
        std::snprintf(line, sizeof(line), "%d %ld %ld %s",
                      status.error() ? int(*status.error()) : 0, micros(after) - micros(before),
                      after.ru_maxrss - long(bytes.capacity() >> 10), status.message().c_str());
    size_t length = std::min(static_cast<size_t>(size), sizeof(line) - 1);
    _exit(write(channel[1], line, length) == static_cast<ssize_t>(length) ? 0 : 9);
  }
  close(channel[1]);
  char line[512] = {};
  ssize_t got = ::read(channel[0], line, sizeof(line) - 1);
  close(channel[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (got <= 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return "the process died";
  int error = 0, used = 0;
  long micros = 0, kilobytes = 0;
  std::sscanf(line, "%d %ld %ld %n", &error, &micros, &kilobytes, &used);
  slowest = std::max(slowest, double(micros) / 1e6);
  largest = std::max(largest, kilobytes);
  if (error != int(bomb.error))
    return "expected " + idOf(bomb.error) + ", got E" + std::to_string(error) + ": " +
           (line + used);
  if (micros > secondsLimit * 1000000l)
    return "took " + std::to_string(micros) + " us";
  if (kilobytes > long(memoryLimit >> 10))
    return "took " + std::to_string(kilobytes) + " KB";
  return {};
}

} // namespace

int main(int argc, char **argv) {
  long only = -1;
  if (argc > 1 && std::strncmp(argv[1], "--only=", 7) == 0)
    only = std::atol(argv[1] + 7);
  BombList list;
  list.shapes();
  list.splats();
  list.counts();
  list.sections();
  list.deepEntries();
  list.cycles();
  list.deepRegions();
  list.operations();
  list.strings();
  list.properties();
  list.useLists();
  list.integers();
  if (list.bombs.size() < 1000) {
    std::printf("only %zu bombs\n", list.bombs.size());
    return 1;
  }
  double slowest = 0;
  long largest = 0;
  size_t failures = 0;
  std::map<Error, size_t> ends;
  for (size_t i = 0; i < list.bombs.size(); ++i) {
    if (only >= 0 && i != size_t(only))
      continue;
    ++ends[list.bombs[i].error];
    std::string broken = explode(list.bombs[i], slowest, largest);
    if (broken.empty())
      continue;
    ++failures;
    std::printf("bomb %zu, %s: %s\n", i, list.bombs[i].name.c_str(), broken.c_str());
  }
  std::printf("%zu bombs, %zu failures, %zu different errors; slowest %.3f s, largest %ld MB\n",
              list.bombs.size(), failures, ends.size(), slowest, largest >> 10);
  return failures != 0;
}
