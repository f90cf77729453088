#include "tilewright/support/text/Json.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace tilewright;

TEST(JsonWriter, InsertsCommas) {
  JsonWriter json;
  json.open('{').key("list").open('[').number(1).text("a").boolean(true).close(']');
  json.key("none").open('{').close('}').key("raw").raw("[2]").close('}');
  EXPECT_EQ(std::move(json).take(), R"({"list":[1,"a",true],"none":{},"raw":[2]})");
}

TEST(JsonWriter, ALineBeginsAfterTheComma) {
  JsonWriter json;
  json.open('[').line().number(1).line().number(2).line().close(']').line();
  EXPECT_EQ(std::move(json).take(), "[\n1,\n2\n]\n");

  // Events that are written one by one, and then put into a list.
  JsonWriter events, list;
  events.line().number(2).line().number(3);
  list.open('[').line().number(1).raw(events.written()).line().close(']');
  EXPECT_EQ(std::move(list).take(), "[\n1,\n2,\n3\n]");
}

TEST(JsonWriter, EscapesControlCharactersAndKeepsUtf8) {
  JsonWriter json;
  json.text("a\"b\\c\n\t\x01\x1F\x7F é");
  EXPECT_EQ(std::move(json).take(), "\"a\\\"b\\\\c\\n\\t\\u0001\\u001f\x7F é\"");
  JsonWriter key;
  key.open('{').key("\"").number(0).close('}');
  EXPECT_EQ(std::move(key).take(), R"({"\"":0})");
}

TEST(JsonWriter, NumbersReadBackAsTheSame) {
  JsonWriter json;
  json.open('[').number(std::numeric_limits<int64_t>::min());
  json.number(std::numeric_limits<uint64_t>::max());
  json.number(0.1).number(2.0).number(-1e300).number(1.0 / 3).close(']');
  EXPECT_EQ(std::move(json).take(),
            "[-9223372036854775808,18446744073709551615,0.1,2,-1e+300,0.3333333333333333]");
  JsonWriter none;
  none.open('[').number(NAN).number(-INFINITY).close(']');
  EXPECT_EQ(std::move(none).take(), "[null,null]");
}

TEST(JsonWriter, TimesAreMicroseconds) {
  JsonWriter json;
  json.open('[').microseconds(1234567).microseconds(5).microseconds(-5).microseconds(-1234567);
  json.close(']');
  EXPECT_EQ(std::move(json).take(), "[1234.567,0.005,-0.005,-1234.567]");
}
