#include <assert.h>
#include <string.h>

#include "ring.h"

static char text[5000];

static const char *filled(char letter, const char *end) {
  memset(text, letter, 4000);
  strcpy(text + 4000, end);
  return text;
}

void test_a_long_line(void) {
  struct ring *ring = ring_new(3);
  assert(ring_add(ring, filled('x', " Error")) == 0 && ring_add(ring, "short") == 0);
  assert(ring_find(ring, "error") == 1);
  assert(ring_find(ring, "warning") == -1);
  ring_free(ring);
}

void test_a_long_text(void) {
  struct ring *ring = ring_new(3);
  assert(ring_add(ring, filled('x', "end")) == 0 && ring_add(ring, "short") == 0);
  assert(ring_find(ring, filled('X', "END")) == 1);
  assert(ring_find(ring, filled('X', "other")) == -1);
  ring_free(ring);
}

void test_upper_and_lower_case(void) {
  struct ring *ring = ring_new(3);
  assert(ring_add(ring, "An ERROR") == 0 && ring_add(ring, "nothing") == 0 && ring_add(ring, "no more") == 0);
  assert(ring_find(ring, "eRRor") == 2);
  assert(ring_find(ring, "no") == 0);
  assert(ring_find(ring, "") == 0);
  ring_free(ring);
}
