// Reading one CSV file row by row, in flat memory: the files of recorded usage that `kudos replay` takes.
//
// The dialect: fields are separated by commas and may be quoted ("a ""b"""); a quoted field ends on its own line. CRLF
// ends a line as LF does, the last line needs no end, a byte order mark at the start is skipped. Text is UTF-8 without
// NUL bytes. An empty line is a row with one empty field.
//
// Thread-safety: a reader belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kudos/error.h"

namespace kudos::sim {

// A file opened for reading from start to end; closed with the object.
class InputFile {
 public:
  // Refuses a path that is missing, a directory or not readable for this user (file_unreadable).
  static Result<InputFile> open(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  // Reads up to `into.size()` bytes; 0 at the end of the file. A failed read is file_unreadable.
  Result<std::size_t> read(std::span<char> into);

  const std::string& path() const { return path_; }
  // Bytes when it was opened; 0 for a pipe.
  std::int64_t size() const { return size_; }

 private:
  InputFile(std::string path, int descriptor, std::int64_t size);
  void close();

  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

struct CsvRow {
  std::int64_t line = 0;  // from 1, the header included
  // Unquoted. Valid until the next call of `next()` or until the reader is moved.
  std::span<const std::string_view> fields;
};

class CsvReader {
 public:
  // A longer line is a bad row, so that a file without line ends can't fill the memory.
  static constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

  // Fails as InputFile::open does.
  static Result<CsvReader> open(const std::string& path);

  // From the next row on, a row with another number of fields is bad.
  void expect_fields(std::size_t count) { expected_fields_ = count; }

  // The next row, nullopt at the end. After bad_row (unterminated or stray quote, number of fields, NUL byte, invalid
  // UTF-8, line too long) the next call goes on with the following line; the message names the file and "line N".
  // file_unreadable means that the file can't be read on: don't call again.
  Result<std::optional<CsvRow>> next();

  // A bad_row error about the row that was read last, for callers that refuse its content.
  std::unexpected<Error> bad_row(const std::string& what) const;
  // The same as "column NAME has 'VALUE': RULE"; the value is shortened and stripped of control characters.
  std::unexpected<Error> bad_value(std::string_view column, std::string_view value, std::string_view rule) const;

  std::int64_t line() const { return line_; }              // number of the line read last, 0 at the start
  std::int64_t bytes_read() const { return bytes_read_; }  // up to the end of that line
  std::int64_t bytes_total() const { return file_.size(); }
  const std::string& path() const { return file_.path(); }

 private:
  explicit CsvReader(InputFile file);

  Result<bool> read_line();
  Result<bool> refill();
  void append_to_line(std::size_t count);
  void strip_line_marks();
  Status check_text() const;
  Status split_line();
  Result<std::size_t> take_field(std::size_t begin);
  Result<std::size_t> take_quoted_field(std::size_t begin);

  InputFile file_;
  std::vector<char> buffer_;
  std::size_t buffer_begin_ = 0;
  std::size_t buffer_end_ = 0;

  std::string text_;  // the current line; quoted fields are unquoted in place
  bool too_long_ = false;
  std::vector<std::string_view> fields_;
  std::size_t expected_fields_ = 0;  // 0: any

  std::int64_t line_ = 0;
  std::int64_t bytes_read_ = 0;
};

}  // namespace kudos::sim
