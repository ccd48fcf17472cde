#include "spans.hpp"

#include <algorithm>

void Spans::add(int begin, int end) {
  if (begin >= end) return;
  auto at = ends_.begin();
  while (at != ends_.end()) {
    if (at->second < begin || at->first > end) {
      ++at;
      continue;
    }
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = ends_.erase(at);
  }
  ends_[begin] = end;
}

bool Spans::has(int minute) const {
  auto after = ends_.upper_bound(minute);
  return after != ends_.begin() && std::prev(after)->second > minute;
}

int Spans::minutes() const {
  int sum = 0;
  for (auto [begin, end] : ends_) sum += end - begin;
  return sum;
}
