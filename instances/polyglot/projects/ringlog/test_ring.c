#include <assert.h>
#include <string.h>

#include "ring.h"

int main(void) {
  struct ring *ring = ring_new(2);
  assert(ring_add(ring, "a") == 0);
  assert(ring_add(ring, "b") == 0);
  assert(ring_add(ring, "c") == 0);
  assert(ring_count(ring) == 2);
  assert(strcmp(ring_back(ring, 0), "c") == 0);
  assert(strcmp(ring_back(ring, 1), "b") == 0);
  assert(!ring_back(ring, 2));
  ring_free(ring);
  return 0;
}
