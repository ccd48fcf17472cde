// The main function of an oracle of doctest.
#define DOCTEST_CONFIG_IMPLEMENT
#if __has_include(<doctest/doctest.h>)
#include <doctest/doctest.h>
#else
#include <doctest.h>
#endif

#include <ostream>

int main(int, char **words) {
  char report[] = "--reporters=xml", list[] = "--list-test-cases", all[] = "--no-skip=true";
  char *own[] = {words[0], report, words[2][0] ? words[2] : list, words[2][0] ? nullptr : all, nullptr};
  CrabTold told;
  std::ostream stream(&told);
  doctest::Context context(own[3] ? 4 : 3, own);
  context.setCout(&stream);
  if (write(64, "begun\n", 6) != 6) _exit(70);
  _exit(context.run() ? 1 : 0);
}
