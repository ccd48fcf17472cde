#include <assert.h>

#include "wild.h"

void test_a_hyphen_at_the_end_is_a_letter(void) {
  assert(wild_match("[a-]", "a"));
  assert(wild_match("[a-]", "-"));
  assert(!wild_match("[a-]", "b"));
  assert(!wild_match("[a-]", "^"));
  assert(wild_match("[a-]x", "-x"));
  assert(wild_match("v[0-9.-]*", "v-1"));
}

void test_a_hyphen_between_is_a_range(void) {
  assert(wild_match("[a-c]", "b"));
  assert(!wild_match("[a-c]", "-"));
  assert(wild_match("[a-c0-9]", "5"));
}
