#include "cli/terminal.h"

#include <pty.h>
#include <unistd.h>

#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <string>
#include <sys/ioctl.h>
#include <thread>
#include <vector>

#include "cli/progress.h"

namespace kudos::cli {
namespace {

using FilePtr = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// A file to write into, and what was written.
class Capture {
 public:
  std::FILE* file() { return file_.get(); }
  std::string text() {
    std::fflush(file());
    std::rewind(file());
    std::string text;
    for (int c = std::fgetc(file()); c != EOF; c = std::fgetc(file())) text += static_cast<char>(c);
    return text;
  }

 private:
  FilePtr file_{std::tmpfile(), &std::fclose};
};

// A pseudo-terminal of 40 × 5. It writes what it is given, without turning "\n" into "\r\n".
class Terminal {
 public:
  Terminal() {
    winsize size{.ws_row = 5, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
    termios raw{};
    ::cfmakeraw(&raw);
    int descriptor = -1;
    if (::openpty(&master_, &descriptor, nullptr, &raw, &size) != 0) return;  // then file() is null
    file_ = FilePtr(::fdopen(descriptor, "w"), &std::fclose);
  }
  ~Terminal() {
    if (master_ >= 0) ::close(master_);
  }

  std::FILE* file() { return file_.get(); }
  void resize(unsigned short columns, unsigned short rows) {
    const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(::ioctl(master_, TIOCSWINSZ, &size), 0);
  }
  // What arrived since the last call. The kernel hands it over in its own time: an end mark tells when all is there.
  std::string text() {
    std::fputs("\001", file());
    std::fflush(file());
    std::string text;
    for (char c = 0; ::read(master_, &c, 1) == 1 && c != '\001';) text += c;
    return text;
  }

 private:
  int master_ = -1;
  FilePtr file_{nullptr, &std::fclose};
};

// Colours depend on the environment; tests decide it.
class TerminalTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(terminal_.file(), nullptr) << "no pseudo-terminals here: is /dev/pts mounted?";
    ::unsetenv("NO_COLOR");
    ::setenv("TERM", "xterm", 1);
  }
  Terminal terminal_;
  Capture capture_;
};

TEST(TextTest, Counts) {
  const std::vector<std::pair<std::int64_t, std::string>> cases = {
      {0, "0"},
      {999, "999"},
      {1000, "1,000"},
      {12345, "12,345"},
      {1234567, "1,234,567"},
      {-123, "-123"},
      {-1234, "-1,234"},
      {std::numeric_limits<std::int64_t>::min(), "-9,223,372,036,854,775,808"},
  };
  for (const auto& [count, text] : cases) EXPECT_EQ(human_count(count), text);
}

TEST(TextTest, Durations) {
  const std::vector<std::pair<double, std::string>> cases = {
      {0, "0 s"},
      {0.00004, "40 µs"},
      {0.0009996, "1.0 ms"},
      {0.0034, "3.4 ms"},
      {0.00996, "10 ms"},
      {0.34, "340 ms"},
      {0.9996, "1.0 s"},
      {12.34, "12.3 s"},
      {59.96, "1 min 0 s"},
      {125, "2 min 5 s"},
      {3599.4, "59 min 59 s"},
      {3599.6, "1 h 0 min"},
      {11520, "3 h 12 min"},
      {86399, "1 d 0 h"},
      {187200, "2 d 4 h"},
      {-1.5, "-1.5 s"},
      {std::numeric_limits<double>::quiet_NaN(), "?"},
      {std::numeric_limits<double>::infinity(), "?"},
  };
  for (const auto& [seconds, text] : cases) EXPECT_EQ(human_duration(seconds), text);
  EXPECT_NE(human_duration(std::numeric_limits<double>::max()), "");
}

TEST(TextTest, WidthAndWhatIsShown) {
  struct Case {
    const char* what;
    std::string text;
    std::size_t width;
    std::string shown;
  };
  const std::vector<Case> cases = {
      {"plain", "abc", 3, "abc"},
      {"accents", "Zoë", 3, "Zoë"},
      {"combining mark", "Zoe\u0308", 3, "Zoe\u0308"},
      {"wide", "計算", 4, "計算"},
      {"emoji", "🙂", 2, "🙂"},
      {"colour", "\033[31mred\033[0m", 3, "\033[31mred\033[0m"},
      {"cursor movement", "\033[2Jx", 5, "?[2Jx"},
      {"colour without end", "\033[31", 4, "?[31"},
      {"line end and tab", "a\nb\tc", 5, "a?b?c"},
      {"C1 control", "\u009b2J", 3, "?2J"},
      {"turned direction", "a\u202eb", 3, "a?b"},
      {"NUL", std::string("a\0b", 3), 3, "a?b"},
      {"stray byte", "a\xFFz", 3, "a?z"},
      {"cut sequence", "a\xE2\x82", 3, "a??"},
      {"overlong", "\xC0\xAF", 2, "??"},
      {"surrogate", "\xED\xA0\x80", 3, "???"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(display_width(c.text), c.width) << c.what;
    EXPECT_EQ(printable(c.text), c.shown) << c.what;
  }
}

TEST(TextTest, Cut) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdef", 5), "abcd…");
  EXPECT_EQ(printable("計算機", 5), "計算…");
  EXPECT_EQ(printable("計算機", 4), "計…");
  EXPECT_EQ(printable("abc", 1), "…");
  EXPECT_EQ(printable("abc", 0), "");
  EXPECT_EQ(printable("\033[31mabcdef\033[0m", 4), "\033[31mabc…\033[0m") << "the colour must not leak";
}

TEST_F(TerminalTest, StyleOnlyWhereItIsWelcome) {
  EXPECT_EQ(style("x", Style::red, terminal_.file()), "\033[31mx\033[0m");
  EXPECT_EQ(style("x", Style::red, capture_.file()), "x");
  ::setenv("NO_COLOR", "", 1);
  EXPECT_EQ(style("x", Style::red, terminal_.file()), "\033[31mx\033[0m") << "an empty NO_COLOR doesn't count";
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(style("x", Style::red, terminal_.file()), "x");
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  EXPECT_EQ(style("x", Style::red, terminal_.file()), "x");
}

TEST_F(TerminalTest, ScreenSize) {
  EXPECT_EQ(screen_size(terminal_.file()).columns, 40U);
  EXPECT_EQ(screen_size(capture_.file()).columns, 80U);
  terminal_.resize(0, 0);
  EXPECT_EQ(screen_size(terminal_.file()).columns, 80U) << "a terminal that doesn't know its size";
}

Table users(std::FILE* out) {
  Table table({{"user"}, {"balance", Align::right}, {"note"}}, out);
  table.add_row({"Zoë", "1,200.00", "計算"});
  table.add_row({"administrator", "-5.00", ""});
  return table;
}

TEST_F(TerminalTest, TableIntoAFile) {
  users(capture_.file()).print();
  EXPECT_EQ(capture_.text(),
            "user            balance  note\n"
            "Zoë            1,200.00  計算\n"
            "administrator     -5.00\n");
}

TEST_F(TerminalTest, TableOnATerminalHasBoldHeaders) {
  const std::string header = users(terminal_.file()).render();
  EXPECT_TRUE(header.starts_with("\033[1muser\033[0m            \033[1mbalance\033[0m  \033[1mnote\033[0m\n"))
      << header;
}

TEST_F(TerminalTest, TableWithoutRows) { EXPECT_EQ(Table({{"a"}, {"b"}}, capture_.file()).render(), "a  b\n"); }

TEST_F(TerminalTest, TableSurvivesHostileCells) {
  Table table({{"a"}, {"b"}}, capture_.file());
  table.add_row({"x\ny", "\033[2J"});
  EXPECT_EQ(table.render(), "a    b\nx?y  ?[2J\n");
}

TEST_F(TerminalTest, TableWithAnotherNumberOfCellsStops) {
  Table table({{"a"}, {"b"}}, capture_.file());
  EXPECT_DEATH(table.add_row({"only one"}), "cells.size");
}

TEST_F(TerminalTest, LiveScreenRedrawsInPlace) {
  {
    LiveScreen screen(terminal_.file());
    EXPECT_EQ(terminal_.text(), "");
    screen.draw("one\ntwo\n");
    EXPECT_EQ(terminal_.text(), "\033[?25lone\033[K\ntwo\033[K\n\033[J");
    screen.draw("three");
    EXPECT_EQ(terminal_.text(), "\033[2A\rthree\033[K\n\033[J");
    screen.close();
    EXPECT_EQ(terminal_.text(), "\033[?25h");
    screen.close();
    EXPECT_EQ(terminal_.text(), "");
    screen.draw("anew");
    EXPECT_EQ(terminal_.text(), "\033[?25lanew\033[K\n\033[J") << "what was drawn before close() stays";
  }
  EXPECT_EQ(terminal_.text(), "\033[?25h") << "the destructor shows the cursor";
}

TEST_F(TerminalTest, LiveScreenStaysInsideTheTerminal) {
  LiveScreen screen(terminal_.file());
  screen.draw("1\n2\n3\n4\n5\n6");
  EXPECT_EQ(terminal_.text(), "\033[?25l1\033[K\n2\033[K\n3\033[K\n… 3 more lines\033[K\n\033[J");
  screen.draw(std::string(60, 'x'));
  EXPECT_EQ(terminal_.text(), "\033[4A\r" + std::string(38, 'x') + "…\033[K\n\033[J");
  terminal_.resize(20, 5);
  screen.draw("y");
  EXPECT_EQ(terminal_.text(), "\033[2A\ry\033[K\n\033[J") << "39 columns take two rows of 20";
}

TEST_F(TerminalTest, LiveScreenIntoAFile) {
  LiveScreen screen(capture_.file());
  screen.draw("one\ntwo\n");
  screen.draw("three");
  screen.close();
  EXPECT_EQ(capture_.text(), "one\ntwo\n\nthree\n");
}

TEST(ProgressTest, Lines) {
  const ProgressState half{
      .label = "replay", .total = 200'000, .done = 100'000, .elapsed_seconds = 8, .extra = "3 refused"};
  EXPECT_EQ(progress_line(half, 70), "replay  [==========>         ]   50 %  12,500/s  8.0 s left  3 refused");
  EXPECT_EQ(progress_line(half, 50), "replay   50 %  12,500/s  8.0 s left  3 refused") << "no room for a bar";
  EXPECT_EQ(progress_line(half, 20), "replay   50 %  12,5…");

  ProgressState state{.label = "replay", .total = 10, .done = 0};
  EXPECT_EQ(progress_line(state, 40), "replay  [>                 ]    0 %  0/s");
  state.done = 12;
  state.elapsed_seconds = 4;
  EXPECT_EQ(progress_line(state, 45), "replay  [===========]  100 %  3.0/s  0 s left");
  state.items = 400;
  EXPECT_EQ(progress_line(state, 45), "replay  [===========]  100 %  100/s  0 s left") << "a rate of items, not bytes";
  state.items = std::nullopt;
  state.total = std::nullopt;
  EXPECT_EQ(progress_line(state, 80), "replay  12  3.0/s  4.0 s");
  state.total = 0;
  EXPECT_EQ(progress_line(state, 80), "replay  12  3.0/s  4.0 s") << "zero counts as unknown";
}

TEST_F(TerminalTest, ProgressIsDrawnAtMostTenTimesASecond) {
  Progress progress("replay", std::nullopt, terminal_.file());
  for (int i = 1; i <= 1000; ++i) progress.update(i);
  const std::string first = terminal_.text();
  EXPECT_TRUE(first.starts_with("\r\033[Kreplay  1  ")) << first;
  EXPECT_EQ(first.find('\r', 1), std::string::npos) << "one drawing only";
  std::this_thread::sleep_for(std::chrono::milliseconds(110));
  progress.update(2000);
  EXPECT_TRUE(terminal_.text().starts_with("\r\033[Kreplay  2,000  "));
  progress.finish();
  EXPECT_EQ(terminal_.text(), "\r\033[K");
  progress.finish();
  progress.update(3000);
  EXPECT_EQ(terminal_.text(), "");
}

TEST_F(TerminalTest, ProgressIntoAFileIsSilent) {
  {
    Progress progress("replay", 10, capture_.file());
    progress.update(5);
  }
  EXPECT_EQ(capture_.text(), "");
}

}  // namespace
}  // namespace kudos::cli
