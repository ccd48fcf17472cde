#undef NDEBUG
#include <cassert>

#include "spans.hpp"

static void adding() {
  Spans spans;
  spans.add(60, 120);
  spans.add(180, 240);
  assert(spans.minutes() == 120 && spans.has(60) && !spans.has(120));
  spans.add(120, 180);
  assert(spans.minutes() == 180 && spans.has(120));
}

int main() {
  adding();
}
