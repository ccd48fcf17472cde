#include <doctest/doctest.h>

#include "bus.hpp"

TEST_CASE("who stops while hearing something makes nobody miss it") {
  Bus bus;
  std::string heard;
  int once = 0;
  bus.listen("a", [&](const std::string &) { heard += '1'; });
  once = bus.listen("a", [&](const std::string &) {
    heard += '2';
    bus.stop(once);
  });
  bus.listen("a", [&](const std::string &) { heard += '3'; });
  bus.listen("a", [&](const std::string &) { heard += '4'; });
  bus.tell("a", "");
  CHECK(heard == "1234");
  bus.tell("a", "");
  CHECK(heard == "1234134");
}

TEST_CASE("who stops one that came before makes nobody miss it") {
  Bus bus;
  std::string heard;
  int first = bus.listen("a", [&](const std::string &) { heard += '1'; });
  bus.listen("a", [&](const std::string &) {
    heard += '2';
    bus.stop(first);
  });
  bus.listen("a", [&](const std::string &) { heard += '3'; });
  bus.tell("a", "");
  CHECK(heard == "123");
}

TEST_CASE("who was stopped hears no more") {
  Bus bus;
  std::string heard;
  int last = 0;
  bus.listen("a", [&](const std::string &) {
    heard += '1';
    bus.stop(last);
  });
  bus.listen("a", [&](const std::string &) { heard += '2'; });
  last = bus.listen("a", [&](const std::string &) { heard += '3'; });
  bus.tell("a", "");
  CHECK(heard == "12");
}
