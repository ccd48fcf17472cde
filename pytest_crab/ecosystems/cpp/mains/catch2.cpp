// The main function of an oracle of Catch2 2.
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_NOSTDOUT
#if __has_include(<catch2/catch.hpp>)
#include <catch2/catch.hpp>
#else
#include <catch.hpp>
#endif

#include <iostream>

namespace Catch {
std::ostream &cout() {
  static CrabTold told;
  static std::ostream stream(&told);
  return stream;
}
std::ostream &cerr() { return std::cerr; }
std::ostream &clog() { return std::clog; }
}  // namespace Catch

int main(int, char **words) {
  char kind[] = "--reporter=xml", list[] = "--list-test-names-only";
  char *own[] = {words[0], kind, words[2][0] ? words[2] : list, nullptr};
  if (write(64, "begun\n", 6) != 6) _exit(70);
  _exit(Catch::Session().run(3, own) ? 1 : 0);
}
