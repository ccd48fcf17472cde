#pragma once

#include <map>

/* Spans of a day's minutes. Each has its begin and not its end; they neither overlap nor touch. */
class Spans {
 public:
  void add(int begin, int end);
  bool has(int minute) const;
  /* How many minutes they have together. */
  int minutes() const;

 private:
  std::map<int, int> ends_;  // by their begins
};
