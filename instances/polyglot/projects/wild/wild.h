/* Names with wildcards. */
#ifndef WILD_H
#define WILD_H

/* Whether a pattern matches the whole of a name: `*` stands for any letters, `?` for one. */
int wild_match(const char *pattern, const char *name);

#endif
