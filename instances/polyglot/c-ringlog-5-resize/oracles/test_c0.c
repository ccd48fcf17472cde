#include <assert.h>
#include <string.h>

#include "ring.h"

static struct ring *around(void) {
  struct ring *ring = ring_new(3);
  const char *lines[] = {"a", "b", "c", "d", "e"};
  for (int i = 0; i < 5; ++i) assert(ring_add(ring, lines[i]) == 0);
  return ring;
}

static int is(const struct ring *ring, const char *newest_first) {
  size_t count = strlen(newest_first);
  for (size_t i = 0; i < count; ++i) {
    const char *line = ring_back(ring, i);
    if (!line || line[0] != newest_first[i]) return 0;
  }
  return ring_count(ring) == count;
}

void test_a_larger_ring_has_the_same_lines(void) {
  struct ring *ring = around();
  assert(ring_resize(ring, 4) == 0);
  assert(is(ring, "edc"));
  assert(ring_add(ring, "f") == 0 && ring_add(ring, "g") == 0);
  assert(is(ring, "gfed"));
  ring_free(ring);
}

void test_a_smaller_ring_has_the_last_lines(void) {
  struct ring *ring = around();
  assert(ring_resize(ring, 2) == 0);
  assert(is(ring, "ed"));
  assert(ring_add(ring, "f") == 0);
  assert(is(ring, "fe"));
  ring_free(ring);
}
