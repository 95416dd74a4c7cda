#include "sim/csv.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include "base/try.h"
#include "base/utf8.h"

namespace kudos::sim {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::unexpected<Error> unreadable(const std::string& path, int error) {
  return fail(ErrorCode::file_unreadable, path + ": " + std::generic_category().message(error));
}

bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// Messages end up in terminals and logs: no escape sequences, no endless lines.
std::string shown(std::string_view value) {
  constexpr std::size_t kShown = 60;
  std::size_t end = std::min(value.size(), kShown);
  while (end < value.size() && end > 0 && is_continuation(static_cast<unsigned char>(value[end]))) --end;
  std::string text(value.substr(0, end));
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  return "'" + text + (end < value.size() ? "…'" : "'");
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return unreadable(path, errno);
  InputFile file(path, descriptor, 0);
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return unreadable(path, errno);
  if (S_ISDIR(status.st_mode)) return unreadable(path, EISDIR);
  file.size_ = S_ISREG(status.st_mode) ? status.st_size : 0;
  return file;
}

InputFile::InputFile(std::string path, int descriptor, std::int64_t size)
    : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  if (this == &other) return *this;
  close();
  path_ = std::move(other.path_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  size_ = other.size_;
  return *this;
}

InputFile::~InputFile() { close(); }

void InputFile::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

Result<std::size_t> InputFile::read(std::span<char> into) {
  while (true) {
    const ssize_t count = ::read(descriptor_, into.data(), into.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) return unreadable(path_, errno);
  }
}

CsvReader::CsvReader(InputFile file) : file_(std::move(file)), buffer_(kBufferBytes) {}

Result<CsvReader> CsvReader::open(const std::string& path) {
  KUDOS_ASSIGN(InputFile file, InputFile::open(path));
  return CsvReader(std::move(file));
}

Result<std::optional<CsvRow>> CsvReader::next() {
  KUDOS_ASSIGN(const bool more, read_line());
  if (!more) return std::nullopt;
  KUDOS_TRY(check_text());
  KUDOS_TRY(split_line());
  if (expected_fields_ != 0 && fields_.size() != expected_fields_) {
    return bad_row("it has " + std::to_string(fields_.size()) + " fields where " + std::to_string(expected_fields_) +
                   " are expected");
  }
  return CsvRow{line_, fields_};
}

std::unexpected<Error> CsvReader::bad_row(const std::string& what) const {
  return fail(ErrorCode::bad_row, path() + ", line " + std::to_string(line_) + ": " + what);
}

std::unexpected<Error> CsvReader::bad_value(std::string_view column, std::string_view value,
                                            std::string_view rule) const {
  return bad_row("column " + std::string(column) + " has " + shown(value) + ": " + std::string(rule));
}

// False at the end of the file.
Result<bool> CsvReader::read_line() {
  text_.clear();
  too_long_ = false;
  std::int64_t consumed = 0;
  bool ended = false;
  while (!ended) {
    if (buffer_begin_ == buffer_end_) {
      KUDOS_ASSIGN(const bool more, refill());
      if (!more) break;
    }
    const char* begin = buffer_.data() + buffer_begin_;
    const std::size_t available = buffer_end_ - buffer_begin_;
    const auto* newline = static_cast<const char*>(std::memchr(begin, '\n', available));
    ended = newline != nullptr;
    const std::size_t count = ended ? static_cast<std::size_t>(newline - begin) : available;
    append_to_line(count);
    buffer_begin_ += count + (ended ? 1 : 0);
    consumed += static_cast<std::int64_t>(count) + (ended ? 1 : 0);
  }
  if (consumed == 0) return false;
  ++line_;
  bytes_read_ += consumed;
  strip_line_marks();
  return true;
}

Result<bool> CsvReader::refill() {
  KUDOS_ASSIGN(const std::size_t count, file_.read(buffer_));
  buffer_begin_ = 0;
  buffer_end_ = count;
  return count > 0;
}

void CsvReader::append_to_line(std::size_t count) {
  too_long_ = too_long_ || text_.size() + count > kMaxLineBytes;
  if (!too_long_) text_.append(buffer_.data() + buffer_begin_, count);
}

void CsvReader::strip_line_marks() {
  if (text_.ends_with('\r')) text_.pop_back();
  if (line_ == 1 && text_.starts_with(kByteOrderMark)) text_.erase(0, kByteOrderMark.size());
}

Status CsvReader::check_text() const {
  if (too_long_) return bad_row("it is longer than " + std::to_string(kMaxLineBytes) + " bytes");
  if (text_.contains('\0')) return bad_row("it contains a NUL byte");
  if (!is_utf8(text_)) return bad_row("it isn't valid UTF-8");
  return {};
}

Status CsvReader::split_line() {
  fields_.clear();
  for (std::size_t position = 0; position <= text_.size(); ++position) {
    const bool quoted = position < text_.size() && text_[position] == '"';
    KUDOS_ASSIGN(position, quoted ? take_quoted_field(position) : take_field(position));
  }
  return {};
}

// Both take the field that begins at `begin` and return where it ends: at a comma or the end of the line.
Result<std::size_t> CsvReader::take_field(std::size_t begin) {
  const std::size_t end = std::min(text_.find(',', begin), text_.size());
  const std::string_view field = std::string_view(text_).substr(begin, end - begin);
  if (field.contains('"')) return bad_row("a quote stands inside a field that doesn't begin with one");
  fields_.push_back(field);
  return end;
}

Result<std::size_t> CsvReader::take_quoted_field(std::size_t begin) {
  std::size_t written = begin;
  std::size_t at = begin + 1;
  while (at < text_.size() && (text_[at] != '"' || text_.substr(at, 2) == "\"\"")) {
    if (text_[at] == '"') ++at;
    text_[written++] = text_[at++];
  }
  if (at >= text_.size()) return bad_row("a quoted field isn't closed on its line");
  ++at;
  if (at < text_.size() && text_[at] != ',') return bad_row("text follows a closing quote");
  fields_.push_back(std::string_view(text_).substr(begin, written - begin));
  return at;
}

}  // namespace kudos::sim
