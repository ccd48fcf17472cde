// What is printed here goes to the descriptor that the oracle's file has set aside.
#include <streambuf>
#include <unistd.h>

struct CrabTold : std::streambuf {
  int overflow(int letter) override {
    char one = static_cast<char>(letter);
    return xsputn(&one, 1) == 1 ? letter : EOF;
  }
  std::streamsize xsputn(const char *text, std::streamsize size) override {
    std::streamsize done = 0;
    while (done < size) {
      std::streamsize now = write(64, text + done, static_cast<size_t>(size - done));
      if (now <= 0) break;
      done += now;
    }
    return done;
  }
};
