#include "ring.h"

#include <stdlib.h>
#include <string.h>

struct ring {
  char **lines;
  size_t places;
  size_t first; /* where the oldest line is */
  size_t count;
};

struct ring *ring_new(size_t places) {
  struct ring *ring = calloc(1, sizeof *ring);
  if (!ring) return NULL;
  ring->places = places;
  ring->lines = calloc(places ? places : 1, sizeof *ring->lines);
  if (!ring->lines) {
    free(ring);
    return NULL;
  }
  return ring;
}

void ring_free(struct ring *ring) {
  if (!ring) return;
  for (size_t i = 0; i < ring->count; ++i) free(ring->lines[(ring->first + i) % ring->places]);
  free(ring->lines);
  free(ring);
}

int ring_add(struct ring *ring, const char *line) {
  if (!ring->places) return 0;
  char *copy = strdup(line);
  if (!copy) return -1;
  if (ring->count == ring->places) {
    free(ring->lines[ring->first]);
    ring->lines[ring->first] = copy;
    ring->first = (ring->first + 1) % ring->places;
  } else {
    ring->lines[(ring->first + ring->count) % ring->places] = copy;
    ring->count += 1;
  }
  return 0;
}

size_t ring_count(const struct ring *ring) { return ring->count; }

const char *ring_back(const struct ring *ring, size_t back) {
  if (back >= ring->count) return NULL;
  return ring->lines[(ring->first + ring->count - 1 - back) % ring->places];
}
