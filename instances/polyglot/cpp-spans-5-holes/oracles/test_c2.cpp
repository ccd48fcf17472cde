#include <doctest/doctest.h>

#include <string>

#include "spans.hpp"

TEST_CASE("all spans of a day") {
  Spans spans;
  for (int minute = 0; minute < 1440; minute += 2) spans.add(minute, minute + 1);
  std::string text = spans.str();
  CHECK(text.size() == 720u * 13 - 2);
  CHECK(text.substr(text.size() - 13) == ", 23:58-23:59");
}

TEST_CASE("six of them") {
  Spans spans;
  for (int hour = 8; hour < 20; hour += 2) spans.add(hour * 60, hour * 60 + 90);
  CHECK(spans.str() == "08:00-09:30, 10:00-11:30, 12:00-13:30, 14:00-15:30, 16:00-17:30, 18:00-19:30");
}

TEST_CASE("few as before") {
  Spans spans;
  CHECK(spans.str() == "");
  spans.add(0, 1440);
  CHECK(spans.str() == "00:00-24:00");
}
