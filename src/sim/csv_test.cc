#include "sim/csv.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace kudos::sim {
namespace {

namespace fs = std::filesystem;
using Rows = std::vector<std::vector<std::string>>;

class CsvTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "kudos-csv-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string write(std::string_view content) {
    const fs::path path = directory_ / "rows.csv";
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }

  // Every row, a refused one as {"bad_row", message after the path}.
  Rows read(std::string_view content, std::size_t expected_fields = 0) {
    const std::string path = write(content);
    auto csv = CsvReader::open(path);
    if (!csv) return {{"open", csv.error().message}};
    csv->expect_fields(expected_fields);
    Rows rows;
    while (true) {
      const auto row = csv->next();
      if (row && !row->has_value()) return rows;
      if (row) {
        rows.emplace_back((*row)->fields.begin(), (*row)->fields.end());
      } else {
        EXPECT_EQ(row.error().code, ErrorCode::bad_row);
        EXPECT_TRUE(row.error().message.starts_with(path + ", ")) << row.error().message;
        rows.push_back({"bad_row", row.error().message.substr(path.size() + 2)});
      }
    }
  }

  fs::path directory_;
};

TEST_F(CsvTest, Dialect) {
  struct Case {
    const char* what;
    std::string_view content;
    Rows rows;
  };
  const std::vector<Case> cases = {
      {"empty file", "", {}},
      {"plain", "a,b\nc,d\n", {{"a", "b"}, {"c", "d"}}},
      {"no final line end", "a,b\nc,d", {{"a", "b"}, {"c", "d"}}},
      {"CRLF", "a,b\r\nc,d\r\n", {{"a", "b"}, {"c", "d"}}},
      {"CRLF, no final line end", "a\r\nb", {{"a"}, {"b"}}},
      {"empty fields", ",\n,x,\n", {{"", ""}, {"", "x", ""}}},
      {"empty line", "a\n\nb\n", {{"a"}, {""}, {"b"}}},
      {"quotes", "\"a,b\",c\n\"\",\"x\"\n", {{"a,b", "c"}, {"", "x"}}},
      {"doubled quotes", "\"a \"\"b\"\"\",\"\"\"\"\n", {{"a \"b\"", "\""}}},
      {"byte order mark",
       "\xEF\xBB\xBF"
       "a,b\n",
       {{"a", "b"}}},
      {"UTF-8", "Zo\xC3\xAB,\xE2\x82\xAC,\xF0\x9F\x98\x80\n", {{"Zo\xC3\xAB", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}}},
      {"carriage return inside", "a\rb,c\n", {{"a\rb", "c"}}},
  };
  for (const Case& c : cases) EXPECT_EQ(read(c.content), c.rows) << c.what;
}

TEST_F(CsvTest, RefusesARowAndGoesOn) {
  struct Case {
    std::string_view row;
    std::string message;
  };
  using namespace std::string_view_literals;
  const std::vector<Case> cases = {
      {"\"x,y", "line 2: a quoted field isn't closed on its line"},
      {"x,\"", "line 2: a quoted field isn't closed on its line"},
      {"x,\"y\"\"", "line 2: a quoted field isn't closed on its line"},
      {"\"x\"y,z", "line 2: text follows a closing quote"},
      {"x,y\"z\"", "line 2: a quote stands inside a field that doesn't begin with one"},
      {"x", "line 2: it has 1 fields where 2 are expected"},
      {"x,y,z", "line 2: it has 3 fields where 2 are expected"},
      {"", "line 2: it has 1 fields where 2 are expected"},
      {"x\0,y"sv, "line 2: it contains a NUL byte"},
      {"x,\xFF", "line 2: it isn't valid UTF-8"},
      {"\x80,y", "line 2: it isn't valid UTF-8"},
      {"\xC0\xAF,y", "line 2: it isn't valid UTF-8"},          // overlong
      {"\xE0\x80\xAF,y", "line 2: it isn't valid UTF-8"},      // overlong
      {"\xED\xA0\x80,y", "line 2: it isn't valid UTF-8"},      // surrogate
      {"\xF4\x90\x80\x80,y", "line 2: it isn't valid UTF-8"},  // beyond U+10FFFF
      {"x,\xE2\x82", "line 2: it isn't valid UTF-8"},          // cut off
  };
  for (const Case& c : cases) {
    const Rows expected = {{"a", "b"}, {"bad_row", c.message}, {"c", "d"}};
    EXPECT_EQ(read("a,b\n" + std::string(c.row) + "\nc,d\n", 2), expected) << c.message;
  }
}

TEST_F(CsvTest, ALineWithoutEndDoesntFillTheMemory) {
  const std::string longest(CsvReader::kMaxLineBytes, 'x');
  EXPECT_EQ(read(longest + "\nb\n"), (Rows{{longest}, {"b"}}));
  EXPECT_EQ(read(longest + "x\nb\n"), (Rows{{"bad_row", "line 1: it is longer than 1048576 bytes"}, {"b"}}));
}

TEST_F(CsvTest, LinesAcrossTheBufferAndProgress) {
  std::string content;
  for (int i = 0; i < 20'000; ++i) content += std::to_string(i) + ",value " + std::to_string(i) + "\r\n";
  auto csv = CsvReader::open(write(content));
  ASSERT_TRUE(csv.has_value());
  EXPECT_EQ(csv->bytes_total(), static_cast<std::int64_t>(content.size()));
  EXPECT_EQ(csv->bytes_read(), 0);
  for (std::int64_t i = 0; i < 20'000; ++i) {
    const auto row = csv->next();
    ASSERT_TRUE(row && row->has_value());
    ASSERT_EQ((*row)->line, i + 1);
    ASSERT_EQ((*row)->fields[1], "value " + std::to_string(i));
    if (i == 0) {
      EXPECT_EQ(csv->bytes_read(), 11);
    }
  }
  EXPECT_FALSE(csv->next()->has_value());
  EXPECT_FALSE(csv->next()->has_value());
  EXPECT_EQ(csv->line(), 20'000);
  EXPECT_EQ(csv->bytes_read(), csv->bytes_total());
}

TEST_F(CsvTest, MovedReaderGoesOn) {
  auto opened = CsvReader::open(write("a\nb\n"));
  ASSERT_TRUE(opened && opened->next()->has_value());
  CsvReader csv = *std::move(opened);
  EXPECT_EQ((*csv.next())->fields[0], "b");
}

TEST_F(CsvTest, UnreadablePaths) {
  const auto missing = CsvReader::open((directory_ / "missing.csv").string());
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::file_unreadable);
  EXPECT_NE(missing.error().message.find("missing.csv"), std::string::npos);

  const auto directory = CsvReader::open(directory_.string());
  ASSERT_FALSE(directory.has_value());
  EXPECT_EQ(directory.error().code, ErrorCode::file_unreadable);
}

TEST_F(CsvTest, NoPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read every file";
  const std::string path = write("a\n");
  fs::permissions(path, fs::perms::none);
  const auto csv = CsvReader::open(path);
  ASSERT_FALSE(csv.has_value());
  EXPECT_EQ(csv.error().code, ErrorCode::file_unreadable);
}

TEST_F(CsvTest, BadValueIsShortenedAndPrintable) {
  auto csv = CsvReader::open(write("a\n"));
  ASSERT_TRUE(csv && csv->next()->has_value());
  const std::string euros = std::string(58, 'x') +
                            "\xE2\x82\xAC"
                            "end";
  const std::string message = csv->bad_value("size", euros, "too large").error().message;
  EXPECT_TRUE(message.ends_with("line 1: column size has '" + std::string(58, 'x') + "…': too large")) << message;
  EXPECT_NE(csv->bad_value("size", "\x1B[31m", "no").error().message.find("'?[31m'"), std::string::npos);
}

}  // namespace
}  // namespace kudos::sim
