#include "cli/terminal.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <sys/ioctl.h>
#include <utility>

#include "base/check.h"

namespace kudos::cli {
namespace {

constexpr std::string_view kReset = "\033[0m";
constexpr std::string_view kClearLineRest = "\033[K";
constexpr std::string_view kClearScreenRest = "\033[J";
constexpr std::string_view kHideCursor = "\033[?25l";
constexpr std::string_view kShowCursor = "\033[?25h";

void write(std::FILE* out, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
}

// In the order of Style.
constexpr std::array<std::string_view, 6> kStyleCodes{"\033[1m",  "\033[2m",  "\033[31m",
                                                      "\033[32m", "\033[33m", "\033[34m"};

struct Range {
  char32_t first, last;
};

bool contains(std::span<const Range> ranges, char32_t code_point) {
  return std::ranges::any_of(ranges,
                             [=](Range range) { return range.first <= code_point && code_point <= range.last; });
}

constexpr std::array kInvisible = std::to_array<Range>(
    {{0x300, 0x36F}, {0x200B, 0x200D}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}});

// C0, DEL, C1, line and paragraph separators, and what turns the direction of the text after it.
constexpr std::array kControl =
    std::to_array<Range>({{0, 0x1F}, {0x7F, 0x9F}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}});

constexpr std::array kWide = std::to_array<Range>({{0x1100, 0x115F},
                                                   {0x2E80, 0x303E},
                                                   {0x3041, 0xA4CF},
                                                   {0xAC00, 0xD7A3},
                                                   {0xF900, 0xFAFF},
                                                   {0xFE30, 0xFE6F},
                                                   {0xFF00, 0xFF60},
                                                   {0xFFE0, 0xFFE6},
                                                   {0x1F300, 0x1F64F},
                                                   {0x1F680, 0x1F6FF},
                                                   {0x1F900, 0x1F9FF},
                                                   {0x20000, 0x3FFFD}});

// The bytes at the start of `text` that make one code point; nullopt when they aren't valid UTF-8.
std::optional<std::pair<char32_t, std::size_t>> decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {{lead, 1}};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return std::nullopt;
  char32_t code_point = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return std::nullopt;
    code_point = (code_point << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};  // of that length
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < kSmallest[length] || code_point > 0x10FFFF || surrogate) return std::nullopt;
  return {{code_point, length}};
}

// Length of the colour sequence "ESC [ digits and ; m" at the start of `text`, 0 if there is none.
std::size_t colour_length(std::string_view text) {
  if (!text.starts_with("\033[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

// What stands at the start of a text: a colour, a code point or a byte that must not be shown.
struct Glyph {
  std::size_t bytes = 1;
  std::size_t width = 1;
  bool colour = false;
  bool shown = true;  // false: '?' in its place
};

Glyph first_glyph(std::string_view text) {
  if (const std::size_t length = colour_length(text); length > 0) return {.bytes = length, .width = 0, .colour = true};
  const auto decoded = decode(text);
  if (!decoded) return {.shown = false};
  const auto [code_point, bytes] = *decoded;
  if (contains(kControl, code_point)) return {.bytes = bytes, .shown = false};
  if (contains(kInvisible, code_point)) return {.bytes = bytes, .width = 0};
  return {.bytes = bytes, .width = contains(kWide, code_point) ? 2U : 1U};
}

std::vector<std::string_view> split_lines(std::string_view block) {
  if (block.ends_with('\n')) block.remove_suffix(1);
  std::vector<std::string_view> lines;
  while (true) {
    const std::size_t end = block.find('\n');
    lines.push_back(block.substr(0, end));
    if (end == std::string_view::npos) return lines;
    block.remove_prefix(end + 1);
  }
}

std::string two_parts(std::int64_t value, std::int64_t base, std::string_view large, std::string_view small) {
  return fmt::format("{} {} {} {}", value / base, large, value % base, small);
}

}  // namespace

bool is_terminal(std::FILE* out) { return ::isatty(::fileno(out)) == 1; }

bool reader_gone(std::FILE* out) {
  pollfd state{.fd = ::fileno(out), .events = POLLOUT, .revents = 0};
  return ::poll(&state, 1, 0) == 1 && (state.revents & POLLERR) != 0;
}

bool stdout_is_terminal() { return is_terminal(stdout); }

ScreenSize screen_size(std::FILE* out) {
  winsize size{};
  const bool known = ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
  return known ? ScreenSize{.columns = size.ws_col, .rows = size.ws_row} : ScreenSize{};
}

std::string style(std::string_view text, Style style, std::FILE* out) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  const bool plain = !variable("NO_COLOR").empty() || variable("TERM") == "dumb" || !is_terminal(out);
  return plain ? std::string(text)
               : fmt::format("{}{}{}", kStyleCodes.at(static_cast<std::size_t>(style)), text, kReset);
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    width += glyph.width;
    text.remove_prefix(glyph.bytes);
  }
  return width;
}

std::string printable(std::string_view text, std::size_t max_width) {
  const bool cut = display_width(text) > max_width;
  std::size_t room = cut && max_width > 0 ? max_width - 1 : max_width;
  bool coloured = false;
  std::string result;
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    if (glyph.width > room) break;
    room -= glyph.width;
    coloured = coloured || glyph.colour;
    result += glyph.shown ? text.substr(0, glyph.bytes) : "?";
    text.remove_prefix(glyph.bytes);
  }
  if (cut && max_width > 0) result += "…";
  if (cut && coloured) result += kReset;
  return result;
}

std::string human_count(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) digits.insert(i -= 3, ",");
  return digits;
}

std::string human_duration(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  if (seconds < 0) return "-" + human_duration(-seconds);
  // Each limit is where the next smaller unit would round up to one of the larger.
  if (seconds == 0) return "0 s";
  if (seconds < 0.0009995) return fmt::format("{:.0f} µs", seconds * 1e6);
  if (seconds < 0.00995) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  if (seconds < 3599.5) return two_parts(std::llround(seconds), 60, "min", "s");
  const std::int64_t minutes = std::llround(std::min(seconds, 1e15) / 60);
  if (minutes < 24 * 60) return two_parts(minutes, 60, "h", "min");
  return two_parts((minutes + 30) / 60, 24, "d", "h");
}

Table::Table(std::vector<Column> columns, std::FILE* out) : columns_(std::move(columns)), out_(out) {
  for (Column& column : columns_) {
    column.header = printable(column.header);
    widths_.push_back(display_width(column.header));
  }
}

void Table::add_row(std::vector<std::string> cells) {
  KUDOS_CHECK(cells.size() == columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = printable(cells[i]);
    widths_[i] = std::max(widths_[i], display_width(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

std::string Table::render_line(const std::vector<std::string>& cells) const {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string blanks(widths_[i] - display_width(cells[i]), ' ');
    if (i > 0) line += "  ";
    line += columns_[i].align == Align::right ? blanks + cells[i] : cells[i] + blanks;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string Table::render() const {
  std::vector<std::string> headers;
  for (const Column& column : columns_) headers.push_back(style(column.header, Style::bold, out_));
  std::string text = render_line(headers);
  for (const auto& row : rows_) text += render_line(row);
  return text;
}

void Table::print() const { write(out_, render()); }

LiveScreen::LiveScreen(std::FILE* out) : out_(out), terminal_(is_terminal(out)) {}

LiveScreen::~LiveScreen() { close(); }

void LiveScreen::draw(std::string_view block) {
  const auto lines = split_lines(block);
  terminal_ ? draw_on_terminal(lines) : draw_plain(lines);
}

void LiveScreen::draw_plain(const std::vector<std::string_view>& lines) {
  std::string text = drawn_before_ ? "\n" : "";
  for (const std::string_view line : lines) text += printable(line) + "\n";
  write(out_, text);
  drawn_before_ = true;
}

// A window that was made narrower since has wrapped the lines that were drawn.
std::size_t LiveScreen::rows_drawn(std::size_t columns) const {
  std::size_t rows = 0;
  for (const std::size_t width : drawn_widths_) rows += width == 0 ? 1 : (width + columns - 1) / columns;
  return rows;
}

void LiveScreen::draw_on_terminal(const std::vector<std::string_view>& lines) {
  const ScreenSize screen = screen_size(out_);
  const std::size_t room = std::max<std::size_t>(screen.rows, 2) - 1;  // the cursor stands on a line of its own
  const bool fits = lines.size() <= room;
  const std::size_t shown = fits ? lines.size() : room - 1;

  std::string text(cursor_hidden_ ? "" : kHideCursor);
  if (const std::size_t up = std::min(rows_drawn(screen.columns), room); up > 0) text += fmt::format("\033[{}A\r", up);
  drawn_widths_.clear();
  const auto add = [&](std::string_view line) {
    const std::string cut = printable(line, screen.columns - 1);  // in a full line, \033[K would clear the last sign
    text += cut;
    text += kClearLineRest;
    text += "\n";
    drawn_widths_.push_back(display_width(cut));
  };
  for (std::size_t i = 0; i < shown; ++i) add(lines[i]);
  if (!fits) add(fmt::format("… {} more lines", lines.size() - shown));
  text += kClearScreenRest;
  write(out_, text);
  cursor_hidden_ = true;
}

void LiveScreen::close() {
  if (cursor_hidden_) write(out_, kShowCursor);
  cursor_hidden_ = false;
  drawn_widths_.clear();
}

}  // namespace kudos::cli
