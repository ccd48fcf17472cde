#include <doctest/doctest.h>

#include "spans.hpp"

TEST_CASE("lunch leaves the afternoon") {
  Spans spans;
  spans.add(540, 1020);
  spans.remove(720, 780);
  CHECK(spans.minutes() == 420);
  for (int minute : {540, 719, 780, 1019}) CHECK(spans.has(minute));
  for (int minute : {539, 720, 779, 1020}) CHECK(!spans.has(minute));
}

TEST_CASE("lunch leaves other spans") {
  Spans spans;
  for (int begin : {0, 100, 200}) spans.add(begin, begin + 50);
  spans.remove(110, 120);
  CHECK(spans.minutes() == 140);
  for (int minute : {49, 109, 120, 149, 200}) CHECK(spans.has(minute));
}

TEST_CASE("what is across spans is taken") {
  Spans spans;
  for (int begin : {0, 100, 200}) spans.add(begin, begin + 50);
  spans.remove(25, 225);
  CHECK(spans.minutes() == 50);
  for (int minute : {24, 225}) CHECK(spans.has(minute));
  for (int minute : {25, 125, 224}) CHECK(!spans.has(minute));
  spans.remove(0, 1440);
  CHECK(spans.minutes() == 0);
}
