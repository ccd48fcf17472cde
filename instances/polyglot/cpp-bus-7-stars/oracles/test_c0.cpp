#include <doctest/doctest.h>

#include "bus.hpp"

static bool hears(const char *wanted, const char *topic) {
  Bus bus;
  bus.listen(wanted, [](const std::string &) {});
  return bus.tell(topic, "") == 1;
}

TEST_CASE("a star is one level, wherever it stands") {
  CHECK(hears("kitchen/*", "kitchen/lamp"));
  CHECK(hears("*/lamp", "kitchen/lamp"));
  CHECK(hears("house/*/lamp", "house/kitchen/lamp"));
  CHECK(hears("*/*", "kitchen/lamp"));
  CHECK(hears("*", "lamp"));
}

TEST_CASE("and no more than one, and no other") {
  CHECK(!hears("kitchen/*", "kitchen/lamp/left"));
  CHECK(!hears("kitchen/*", "kitchen"));
  CHECK(!hears("*/lamp", "kitchen/door"));
  CHECK(!hears("*/lamp", "house/kitchen/lamp"));
  CHECK(!hears("house/*/lamp", "house/kitchen/door"));
  CHECK(!hears("*/*", "lamp"));
}

TEST_CASE("a topic without one is itself") {
  CHECK(hears("kitchen/lamp", "kitchen/lamp"));
  CHECK(!hears("kitchen/lamp", "kitchen/lamps"));
  CHECK(!hears("kitchen", "kitchen/lamp"));
}
