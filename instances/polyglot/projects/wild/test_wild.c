#include <assert.h>

#include "wild.h"

int main(void) {
  assert(wild_match("*.c", "wild.c"));
  assert(wild_match("w?ld.*", "wild.h"));
  assert(!wild_match("*.c", "wild.h"));
  assert(!wild_match("", "a"));
  return 0;
}
