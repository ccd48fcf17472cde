#include "bus.hpp"

void Bus::listen(const std::string &topic, Listener listener) {
  entries_.push_back({topic, std::move(listener)});
}

int Bus::tell(const std::string &topic, const std::string &text) {
  int heard = 0;
  for (const Entry &entry : entries_) {
    if (entry.topic != topic) continue;
    entry.listener(text);
    ++heard;
  }
  return heard;
}
