/* The last lines of a log, in memory. */
#ifndef RING_H
#define RING_H

#include <stddef.h>

struct ring;

/* Make a ring that keeps the last `places` lines; NULL if there is no memory. A ring of no places keeps nothing. */
struct ring *ring_new(size_t places);
void ring_free(struct ring *ring);

/* Add a copy of a line; 0, or -1 if there is no memory. */
int ring_add(struct ring *ring, const char *line);

/* How many lines there are. */
size_t ring_count(const struct ring *ring);

/* The line that was added `back` lines before the last one; NULL if it is not there. */
const char *ring_back(const struct ring *ring, size_t back);

#endif
