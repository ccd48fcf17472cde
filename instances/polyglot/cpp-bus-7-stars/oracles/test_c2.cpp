#include <doctest/doctest.h>

#include <stdexcept>

#include "bus.hpp"

TEST_CASE("an empty listener is refused, and its topic named") {
  for (const char *topic : {"kitchen/lamp", "cellar"}) {
    Bus bus;
    std::string refusal;
    try {
      bus.listen(topic, Bus::Listener());
    } catch (const std::invalid_argument &error) {
      refusal = error.what();
    }
    CHECK(refusal.find(topic) != std::string::npos);
    CHECK(bus.tell(topic, "on") == 0);
  }
}

TEST_CASE("the others are heard as before") {
  Bus bus;
  std::string heard;
  int first = bus.listen("a", [&](const std::string &text) { heard += text; });
  CHECK_THROWS_AS(bus.listen("a", nullptr), std::invalid_argument);
  int second = bus.listen("a", [&](const std::string &text) { heard += text; });
  CHECK(first != second);
  CHECK(bus.tell("a", "x") == 2);
  CHECK(heard == "xx");
}
