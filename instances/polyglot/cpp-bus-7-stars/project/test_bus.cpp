#undef NDEBUG
#include <cassert>

#include "bus.hpp"

static void telling() {
  Bus bus;
  std::string heard;
  bus.listen("lamp", [&](const std::string &text) { heard += "1" + text; });
  bus.listen("door", [&](const std::string &) { assert(false); });
  bus.listen("lamp", [&](const std::string &text) { heard += "2" + text; });
  assert(bus.tell("lamp", "on") == 2 && heard == "1on2on");
  assert(bus.tell("cellar", "dark") == 0);
}

int main() {
  telling();
}
