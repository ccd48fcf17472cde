#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wild.h"

/* A text that ends where the memory does. */
static const char *last(const char *text) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), size = strlen(text) + 1;
  char *place = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert(place != MAP_FAILED && mprotect(place + page, page, PROT_NONE) == 0);
  return memcpy(place + page - size, text, size);
}

void test_a_set_without_an_end(void) {
  assert(!wild_match(last("["), "a"));
  assert(!wild_match(last("x[abc"), "xa"));
  assert(!wild_match(last("x[a"), "x"));
  assert(!wild_match(last("x[a-"), "xa"));
}

void test_a_set_with_an_end(void) {
  assert(wild_match(last("x[abc]"), "xc"));
  assert(wild_match(last("x[a-c]y"), "xby"));
  assert(!wild_match(last("x[a-c]"), "xd"));
}
