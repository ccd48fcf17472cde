#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"

static struct ring *some(void) {
  struct ring *ring = ring_new(3);
  assert(ring_add(ring, "a line") == 0 && ring_add(ring, "another") == 0);
  return ring;
}

void test_no_such_folder(void) {
  struct ring *ring = some();
  assert(ring_save(ring, "/nowhere/at/all/log.txt") == -1);
  ring_free(ring);
}

void test_a_full_disk(void) {
  struct ring *ring = some();
  assert(ring_save(ring, "/dev/full") == -1);
  ring_free(ring);
}

void test_what_is_written(void) {
  struct ring *ring = some();
  char path[4096], text[64] = "";
  snprintf(path, sizeof path, "%s/log.txt", getenv("TMPDIR"));
  assert(ring_save(ring, path) == 0);
  FILE *file = fopen(path, "r");
  assert(file);
  fread(text, 1, sizeof text - 1, file);
  fclose(file);
  assert(strcmp(text, "a line\nanother\n") == 0);
  ring_free(ring);
}
