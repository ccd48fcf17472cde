#pragma once

#include <functional>
#include <string>
#include <vector>

/* Listeners by topic, who hear what is told in the order in which they came. */
class Bus {
 public:
  using Listener = std::function<void(const std::string &text)>;

  void listen(const std::string &topic, Listener listener);
  /* How many heard it. */
  int tell(const std::string &topic, const std::string &text);

 private:
  struct Entry {
    std::string topic;
    Listener listener;
  };
  std::vector<Entry> entries_;
};
