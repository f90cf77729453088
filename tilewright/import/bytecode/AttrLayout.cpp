#include "tilewright/import/bytecode/AttrLayout.h"

#include "tilewright/import/bytecode/CodeIndex.h"

#include <initializer_list>

namespace tilewright::bytecode {
namespace {

constexpr AttrLayout layout(Dialect dialect, uint8_t code, AttrKind kind,
                            std::initializer_list<Field> fields) {
  AttrLayout row{dialect, code, kind, {}, static_cast<uint8_t>(fields.size())};
  size_t place = 0;
  for (const Field &field : fields)
    row.fields[place++] = field;
  return row;
}

constexpr Dialect builtin = Dialect::builtin, vhlo = Dialect::vhlo, sdy = Dialect::sdy;
constexpr Slot a = Slot::a, b = Slot::b, list = Slot::list, item = Slot::item;
using K = AttrKind;
using W = Wire;

/// An enum with values from `first` to `limit` - 1.
constexpr AttrLayout choice(uint8_t code, AttrKind kind, uint8_t limit, uint8_t first = 0) {
  return layout(vhlo, code, kind, {{W::choice, a, Want::anything, limit, first}});
}

constexpr AttrLayout rows[] = {
    layout(builtin, 0, K::array, {{W::attrs, list}}),
    layout(builtin, 1, K::dictionary, {{W::pairs, list, Want::string}}),
    layout(builtin, 2, K::string, {{W::string, a}}),
    layout(builtin, 3, K::string, {{W::string, a}, {W::type, b}}),
    layout(builtin, 4, K::symbolRef, {{W::attr, a, Want::string}}),
    layout(builtin, 5, K::symbolRef,
           {{W::attr, a, Want::string}, {W::attrs, list, Want::symbolRef}}),
    layout(builtin, 6, K::type, {{W::type, a}}),
    layout(builtin, 7, K::unit, {}),
    layout(builtin, 8, K::integer, {{W::type, a, Want::integerType}, {W::value, list}}),
    layout(builtin, 9, K::real, {{W::type, a, Want::realType}, {W::value, list}}),
    layout(builtin, 10, K::callSiteLocation,
           {{W::attr, a, Want::location}, {W::attr, b, Want::location}}),
    layout(builtin, 11, K::fileLocation, {{W::attr, a, Want::string}, {W::lineColumn, list}}),
    layout(builtin, 12, K::fusedLocation, {{W::attrs, list, Want::location}}),
    layout(builtin, 13, K::fusedLocation, {{W::attrs, list, Want::location}, {W::attr, a}}),
    layout(builtin, 14, K::nameLocation,
           {{W::attr, a, Want::string}, {W::attr, b, Want::location}}),
    layout(builtin, 15, K::unknownLocation, {}),
    layout(builtin, 17, K::denseArray, {{W::type, a}, {W::arrayLiteral, b}}),
    layout(builtin, 18, K::denseElements, {{W::type, a, Want::tensorType}, {W::literal, b}}),
    layout(builtin, 22, K::fileLocation, {{W::attr, a, Want::string}, {W::lineColumnRange, list}}),

    layout(vhlo, 1, K::vhloArray, {{W::attrs, list}}),
    choice(2, K::vhloBoolean, 2),
    choice(3, K::vhloComparisonDirection, 6),
    choice(4, K::vhloComparisonType, 5),
    choice(5, K::vhloApiVersion, 5),
    layout(vhlo, 6, K::vhloDictionary, {{W::pairs, list, Want::vhloString}}),
    choice(7, K::vhloFftType, 4),
    layout(vhlo, 8, K::vhloReal, {{W::type, a, Want::realType}, {W::value, list}}),
    layout(vhlo, 9, K::vhloInteger, {{W::type, a, Want::integerType}, {W::value, list}}),
    layout(vhlo, 10, K::vhloOutputOperandAlias,
           {{W::numberList, item}, {W::numbers, item, Want::anything, 1}, {W::numberList, item}}),
    choice(11, K::vhloPrecision, 3),
    choice(12, K::vhloRngAlgorithm, 3),
    choice(13, K::vhloRngDistribution, 3, /*first=*/1),
    layout(vhlo, 14, K::vhloString, {{W::string, a}}),
    layout(vhlo, 15, K::vhloTensor, {{W::type, a, Want::tensorType}, {W::literal, b}}),
    choice(16, K::vhloTranspose, 4),
    layout(vhlo, 17, K::vhloType, {{W::type, a}}),
    layout(vhlo, 18, K::vhloTypeExtensions, {{W::numberList, list}}),
    choice(19, K::vhloAccuracyMode, 3),
    layout(vhlo, 20, K::vhloResultAccuracy,
           {{W::numbers, list, Want::anything, 3}, {W::attr, a, Want::vhloAccuracyMode}}),
    layout(vhlo, 21, K::vhloSubAxisInfo, {{W::numbers, list, Want::anything, 2}}),
    layout(vhlo, 22, K::vhloAxisRef,
           {{W::attr, a, Want::vhloString}, {W::countedAttr, b, Want::vhloSubAxisInfo}}),
    layout(vhlo, 23, K::vhloReplicaGroupMesh,
           {{W::attr, a, Want::vhloMeshName}, {W::attr, b, Want::vhloArray}}),
    layout(vhlo, 24, K::vhloMeshAxis,
           {{W::attr, a, Want::vhloString}, {W::numbers, list, Want::anything, 1}}),
    layout(vhlo, 25, K::vhloMesh, {{W::attr, a, Want::vhloArray}, {W::flaggedAttr, b}}),

    layout(sdy, 0, K::sdyManualAxes, {{W::attrs, list, Want::string}}),
    layout(sdy, 1, K::sdyMeshAxis, {{W::string, a}, {W::numbers, list, Want::anything, 1}}),
    layout(sdy, 2, K::sdyMesh, {{W::attrs, item, Want::sdyMeshAxis}, {W::numberList, item}}),
    layout(sdy, 3, K::sdySubAxisInfo, {{W::numbers, list, Want::anything, 2}}),
    layout(sdy, 4, K::sdyAxisRef, {{W::string, a}, {W::flaggedAttr, b, Want::sdySubAxisInfo}}),
    layout(sdy, 5, K::sdyDimensionSharding,
           {{W::attrs, list, Want::sdyAxisRef}, {W::boolByte, a}, {W::optionalNumber, b}}),
    layout(sdy, 6, K::sdyTensorSharding,
           {{W::attr, a, Want::sdyMeshName},
            {W::attrs, item, Want::sdyDimensionSharding},
            {W::attrs, item, Want::sdyAxisRef}}),
    layout(sdy, 7, K::sdyPerValueSharding, {{W::attrs, list, Want::sdyTensorSharding}}),
    layout(sdy, 8, K::sdyDimMapping, {{W::numberList, list}}),
    layout(sdy, 9, K::sdyTensorMapping, {{W::attrs, list, Want::sdyDimMapping}}),
    layout(sdy, 10, K::sdyShardingRule,
           {{W::numberList, item},
            {W::attrs, item, Want::sdyTensorMapping},
            {W::attrs, item, Want::sdyTensorMapping},
            {W::numberList, item},
            {W::numberList, item},
            {W::numberList, item},
            {W::numberList, item},
            {W::boolByte, a}}),
    layout(sdy, 11, K::sdyAxisRefList, {{W::attrs, list, Want::sdyAxisRef}}),
    layout(sdy, 12, K::sdyListOfAxisRefLists, {{W::attrs, list, Want::sdyAxisRefList}}),
    layout(sdy, 13, K::sdyAllToAllParam,
           {{W::attrs, item, Want::sdyAxisRef}, {W::numbers, item, Want::anything, 2}}),
    layout(sdy, 14, K::sdyAllToAllParamList, {{W::attrs, list, Want::sdyAllToAllParam}}),
    layout(sdy, 15, K::sdyTensorSharding,
           {{W::attr, a, Want::sdyMeshName},
            {W::attrs, item, Want::sdyDimensionSharding},
            {W::attrs, item, Want::sdyAxisRef},
            {W::attrs, item, Want::sdyAxisRef}}),
    layout(sdy, 16, K::sdyPerValueSharding, {{W::attrs, list, Want::sdyTensorSharding}}),
    layout(sdy, 17, K::sdyTensorSharding,
           {{W::attr, a, Want::sdyMeshName},
            {W::attrs, item, Want::sdyDimensionSharding},
            {W::attrs, item, Want::sdyAxisRef},
            {W::attrs, item, Want::sdyAxisRef},
            {W::signedNumber, b, Want::anything, 3}}),
};

constexpr CodeIndex<32> index(rows);

} // namespace

const AttrLayout *findAttrLayout(Dialect dialect, uint64_t code) {
  std::optional<size_t> row = index.find(dialect, code);
  return row ? &rows[*row] : nullptr;
}

std::span<const AttrLayout> attrLayouts() { return rows; }

bool isLocation(AttrKind kind) {
  return kind >= AttrKind::unknownLocation && kind <= AttrKind::fusedLocation;
}

bool satisfies(AttrKind kind, Want want) {
  switch (want) {
  case Want::anything:
    return true;
  case Want::string:
    return kind == K::string;
  case Want::symbolRef:
    return kind == K::symbolRef;
  case Want::location:
    return isLocation(kind);
  case Want::vhloString:
    return kind == K::vhloString;
  case Want::vhloAccuracyMode:
    return kind == K::vhloAccuracyMode;
  case Want::vhloSubAxisInfo:
    return kind == K::vhloSubAxisInfo;
  case Want::vhloArray:
    return kind == K::vhloArray;
  case Want::vhloMeshName:
    return kind == K::vhloString || kind == K::vhloMesh;
  case Want::sdyMeshAxis:
    return kind == K::sdyMeshAxis;
  case Want::sdySubAxisInfo:
    return kind == K::sdySubAxisInfo;
  case Want::sdyAxisRef:
    return kind == K::sdyAxisRef;
  case Want::sdyDimensionSharding:
    return kind == K::sdyDimensionSharding;
  case Want::sdyMeshName:
    return kind == K::sdyMesh || kind == K::symbolRef;
  case Want::sdyTensorSharding:
    return kind == K::sdyTensorSharding;
  case Want::sdyDimMapping:
    return kind == K::sdyDimMapping;
  case Want::sdyTensorMapping:
    return kind == K::sdyTensorMapping;
  case Want::sdyAxisRefList:
    return kind == K::sdyAxisRefList;
  case Want::sdyAllToAllParam:
    return kind == K::sdyAllToAllParam;
  case Want::tensorType:
  case Want::realType:
  case Want::integerType:
    break;
  }
  return false;
}

std::string_view describe(Want want) {
  constexpr std::string_view names[] = {"anything",
                                        "a string",
                                        "a symbol reference",
                                        "a location",
                                        "a vhlo string",
                                        "an accuracy mode",
                                        "a vhlo sub-axis info",
                                        "a vhlo array",
                                        "a mesh or its name",
                                        "an sdy mesh axis",
                                        "an sdy sub-axis info",
                                        "an sdy axis reference",
                                        "an sdy dimension sharding",
                                        "an sdy mesh or its name",
                                        "an sdy tensor sharding",
                                        "an sdy dimension mapping",
                                        "an sdy tensor mapping",
                                        "an sdy list of axis references",
                                        "an sdy all-to-all parameter",
                                        "a tensor type",
                                        "a float type",
                                        "an integer type"};
  return names[static_cast<size_t>(want)];
}

std::string_view nameOf(AttrKind kind) {
  constexpr std::string_view names[] = {
      "array",
      "dictionary",
      "string",
      "symbolRef",
      "type",
      "unit",
      "integer",
      "real",
      "denseArray",
      "denseElements",
      "unknownLocation",
      "fileLocation",
      "nameLocation",
      "callSiteLocation",
      "fusedLocation",
      "vhloArray",
      "vhloBoolean",
      "vhloDictionary",
      "vhloString",
      "vhloType",
      "vhloInteger",
      "vhloReal",
      "vhloTensor",
      "vhloComparisonDirection",
      "vhloComparisonType",
      "vhloApiVersion",
      "vhloFftType",
      "vhloPrecision",
      "vhloRngAlgorithm",
      "vhloRngDistribution",
      "vhloTranspose",
      "vhloAccuracyMode",
      "vhloOutputOperandAlias",
      "vhloTypeExtensions",
      "vhloResultAccuracy",
      "vhloSubAxisInfo",
      "vhloAxisRef",
      "vhloReplicaGroupMesh",
      "vhloMeshAxis",
      "vhloMesh",
      "sdyManualAxes",
      "sdyMeshAxis",
      "sdyMesh",
      "sdySubAxisInfo",
      "sdyAxisRef",
      "sdyDimensionSharding",
      "sdyTensorSharding",
      "sdyPerValueSharding",
      "sdyDimMapping",
      "sdyTensorMapping",
      "sdyShardingRule",
      "sdyAxisRefList",
      "sdyListOfAxisRefLists",
      "sdyAllToAllParam",
      "sdyAllToAllParamList",
  };
  return names[static_cast<size_t>(kind)];
}

} // namespace tilewright::bytecode
