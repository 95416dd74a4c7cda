#include "cli/progress.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "cli/terminal.h"

namespace kudos::cli {
namespace {

constexpr std::chrono::milliseconds kRedrawInterval{100};
constexpr std::size_t kMaxBarColumns = 40;
constexpr std::size_t kMinBarColumns = 10;
const std::string kClearLine = "\r\033[K";

void write(std::FILE* out, const std::string& text) {
  std::fputs(text.c_str(), out);
  std::fflush(out);
}

std::string bar(double fraction, std::size_t columns) {
  const auto filled = static_cast<std::size_t>(fraction * static_cast<double>(columns));
  std::string text(filled, '=');
  if (filled < columns) text += '>';
  text.resize(columns, ' ');
  return "[" + text + "]";
}

std::string rate_text(const ProgressState& state) {
  if (state.elapsed_seconds <= 0) return "0/s";
  const double per_second = static_cast<double>(state.items.value_or(state.done)) / state.elapsed_seconds;
  if (per_second > 0 && per_second < 10) return fmt::format("{:.1f}/s", per_second);
  return human_count(static_cast<std::int64_t>(std::min(per_second, 1e18))) + "/s";
}

std::string time_left(const ProgressState& state, double fraction) {
  if (fraction <= 0) return "";
  return human_duration(state.elapsed_seconds * (1 - fraction) / fraction) + " left";
}

void append(std::string& line, std::string_view part) {
  if (part.empty()) return;
  if (!line.empty()) line += "  ";
  line += part;
}

std::string line_with_bar(const ProgressState& state, std::size_t columns) {
  const double fraction = std::clamp(static_cast<double>(state.done) / static_cast<double>(*state.total), 0.0, 1.0);
  std::string figures = fmt::format("{:3} %", static_cast<int>(fraction * 100));
  append(figures, rate_text(state));
  append(figures, time_left(state, fraction));
  append(figures, state.extra);

  std::string line(state.label);
  const std::size_t taken = display_width(line) + display_width(figures) + 6;  // blanks between, brackets
  const std::size_t bar_columns = std::min(columns > taken ? columns - taken : 0, kMaxBarColumns);
  if (bar_columns >= kMinBarColumns) append(line, bar(fraction, bar_columns));
  append(line, figures);
  return line;
}

std::string line_without_total(const ProgressState& state) {
  std::string line(state.label);
  append(line, human_count(state.done));
  append(line, rate_text(state));
  append(line, human_duration(state.elapsed_seconds));
  append(line, state.extra);
  return line;
}

}  // namespace

std::string progress_line(const ProgressState& state, std::size_t columns) {
  const bool total_known = state.total && *state.total > 0;
  return printable(total_known ? line_with_bar(state, columns) : line_without_total(state), columns);
}

Progress::Progress(std::string label, std::optional<std::int64_t> total, std::FILE* out)
    : label_(std::move(label)), total_(total), out_(out), active_(is_terminal(out)) {}

Progress::~Progress() { finish(); }

void Progress::update(std::int64_t done, std::string_view extra, std::optional<std::int64_t> items) {
  if (!active_) return;
  const auto now = Clock::now();
  if (now < next_draw_) return;
  next_draw_ = now + kRedrawInterval;
  const double elapsed = std::chrono::duration<double>(now - started_).count();
  // One column stays free: a full line makes some terminals wrap, and then \r doesn't lead back to its start.
  const std::size_t columns = screen_size(out_).columns - 1;
  const ProgressState state{
      .label = label_, .total = total_, .done = done, .elapsed_seconds = elapsed, .extra = extra, .items = items};
  write(out_, kClearLine + progress_line(state, columns));
  drawn_ = true;
}

void Progress::finish() {
  if (drawn_) write(out_, kClearLine);
  active_ = false;
  drawn_ = false;
}

}  // namespace kudos::cli
