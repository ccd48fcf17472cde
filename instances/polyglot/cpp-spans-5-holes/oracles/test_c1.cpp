#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "spans.hpp"

static std::string refusal(const std::string &text) {
  try {
    Spans::parse(text);
  } catch (const std::invalid_argument &error) {
    return error.what();
  }
  return "";
}

TEST_CASE("what is no span is quoted") {
  for (const char *bad : {"9.30-12:00", "09:00", "09:00-", "22:00-25:00", "12:00-09:00", "09:60-10:00", "09:00-12:00x", "09:00-12:00-13:00"}) {
    CHECK(refusal(bad).find(bad) != std::string::npos);
    CHECK(refusal(std::string("07:00-08:00,") + bad).find(bad) != std::string::npos);
  }
}

TEST_CASE("the others are read") {
  CHECK(Spans::parse("00:00-24:00").minutes() == 1440);
  CHECK(Spans::parse("09:00-12:30, 13:00-17:00").minutes() == 450);
  CHECK(Spans::parse("09:00-12:00,12:00-12:01").minutes() == 181);
}
