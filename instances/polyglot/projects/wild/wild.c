#include "wild.h"

int wild_match(const char *pattern, const char *name) {
  for (;;) {
    switch (*pattern) {
      case 0:
        return *name == 0;
      case '?':
        if (!*name) return 0;
        break;
      case '*':
        while (*pattern == '*') ++pattern;
        do {
          if (wild_match(pattern, name)) return 1;
        } while (*name++);
        return 0;
      default:
        if (*pattern != *name) return 0;
    }
    ++pattern;
    ++name;
  }
}
