// What a person sees of the `kudos` program: tables, colours, a status that redraws itself, numbers and times in words.
//
// Everything here looks at the stream it writes to: a terminal gets colours and redrawing, a file or a pipe gets the
// same text plain. Output for programs (--json) doesn't belong here. Text is UTF-8; widths are in terminal columns.
//
// Cells and lines may hold what strangers wrote, e.g. a metadata value: control characters and invalid UTF-8 are shown
// as '?', so that no text can move the cursor or break a table. Only colours (what `style` adds) pass.
//
// Thread-safety: the functions may be called from any thread; an object belongs to one thread at a time, and while a
// LiveScreen is alive nobody else writes to its terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace kudos::cli {

bool is_terminal(std::FILE* out);
bool stdout_is_terminal();

// Whoever read the pipe behind `out` has gone, e.g. `kudos top users | head -1`. A command that runs until it's stopped
// ends then.
bool reader_gone(std::FILE* out);

// Of the terminal behind `out`, now: it changes when a person resizes the window. 80 × 24 when it can't be asked.
struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};
ScreenSize screen_size(std::FILE* out);

enum class Style { bold, dim, red, green, yellow, blue };

// `text` in that style when `out` is a terminal, the terminal can (TERM isn't "dumb") and the person doesn't object
// (the environment's NO_COLOR is unset or empty); otherwise `text` as it is.
std::string style(std::string_view text, Style style, std::FILE* out = stdout);

// Columns that `text` takes on a terminal: a wide character (Chinese, emoji) two, combining marks and colours none.
// Rough: sequences that a font joins into one sign count as their parts.
std::size_t display_width(std::string_view text);

// `text` fit to be shown on one line: see above. With `max_width` it's cut to that many columns, the last an ellipsis.
std::string printable(std::string_view text, std::size_t max_width = std::string_view::npos);

// 12345 → "12,345".
std::string human_count(std::int64_t count);

// To two or three digits' worth: "40 µs", "3.4 ms", "340 ms", "12.3 s", "2 min 5 s", "3 h 12 min", "2 d 4 h".
// What is not a finite number is "?".
std::string human_duration(double seconds);

enum class Align { left, right };

struct Column {
  std::string header;
  Align align = Align::left;  // right for numbers
};

// Rows under headers, as wide as their widest cell, two blanks apart. Not cut to the terminal's width: a pipe and
// copying must get all of it. Holds all rows until it's printed: not for millions of rows.
class Table {
 public:
  explicit Table(std::vector<Column> columns, std::FILE* out = stdout);

  // One cell a column, in their order; another number is a programmer's error and stops the process.
  void add_row(std::vector<std::string> cells);

  // Lines ended by '\n', without blanks at their ends. Headers are bold where `style` allows.
  std::string render() const;

  // Writes render() and flushes. May be called again.
  void print() const;

 private:
  std::string render_line(const std::vector<std::string>& cells) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
  std::FILE* out_;
};

// A status that is redrawn in place, e.g. `kudos status --watch`. What was on the screen before stays, and so does the
// last drawing. Lines are cut to the terminal's width, and a status taller than the terminal ends in "… N more lines",
// because what has scrolled away can't be redrawn. Into a file or pipe every drawing is written whole, with a blank
// line in between.
//
// The cursor is hidden between the first draw and close(). A signal that kills the process leaves it hidden: catch
// SIGINT and SIGTERM and end normally.
class LiveScreen {
 public:
  explicit LiveScreen(std::FILE* out = stdout);
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;
  ~LiveScreen();  // closes

  // `block`: lines separated by '\n', the last may have one too. Write errors are ignored, as for all output here.
  void draw(std::string_view block);

  // Shows the cursor again, below the last drawing. May be called again; a later draw starts a new drawing there.
  void close();

 private:
  void draw_on_terminal(const std::vector<std::string_view>& lines);
  void draw_plain(const std::vector<std::string_view>& lines);
  std::size_t rows_drawn(std::size_t columns) const;

  std::FILE* out_;
  bool terminal_;
  bool cursor_hidden_ = false;
  bool drawn_before_ = false;              // into a file or pipe
  std::vector<std::size_t> drawn_widths_;  // of the lines on the screen
};

}  // namespace kudos::cli
