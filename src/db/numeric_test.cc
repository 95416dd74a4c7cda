#include "db/numeric.h"

#include <gtest/gtest.h>

#include "base/decimal.h"
#include "db/wire.h"

namespace kudos::db {
namespace {

std::string encode(std::int16_t weight, std::int16_t sign, std::initializer_list<std::int16_t> digits) {
  std::string bytes;
  put<std::int16_t>(bytes, static_cast<std::int16_t>(digits.size()));
  put<std::int16_t>(bytes, weight);
  put<std::int16_t>(bytes, sign);
  put<std::int16_t>(bytes, 2);
  for (const auto digit : digits) put(bytes, digit);
  return bytes;
}

TEST(NumericTest, RoundTripsTheEdges) {
  for (const Int128 value :
       {Int128{0}, Int128{1}, Int128{-1}, Int128{100}, Int128{9999}, Int128{10000}, Int128{123456789},
        Amount::kLimit - 1, -Amount::kLimit + 1, Total::kLimit - 1, -Total::kLimit + 1}) {
    std::string bytes;
    put_numeric(bytes, value);
    const auto read = get_numeric(bytes);
    ASSERT_TRUE(read.has_value()) << hundredths_to_string(value);
    EXPECT_EQ(*read, value) << hundredths_to_string(value);
  }
}

// PostgreSQL's documented digits: 12345.67 is 1 2345 6700.
TEST(NumericTest, WritesWhatPostgresWrites) {
  std::string bytes;
  put_numeric(bytes, 1234567);
  EXPECT_EQ(bytes, encode(1, 0, {1, 2345, 6700}));
}

TEST(NumericTest, RefusesWhatIsNotTwoDecimals) {
  EXPECT_FALSE(get_numeric(encode(0, static_cast<std::int16_t>(0xC000), {})).has_value());  // NaN
  EXPECT_FALSE(get_numeric(encode(0, static_cast<std::int16_t>(0xD000), {})).has_value());  // infinity
  EXPECT_FALSE(get_numeric(encode(-1, 0, {1})).has_value());                                // 0.0001
  EXPECT_FALSE(get_numeric(encode(-2, 0, {1})).has_value());                                // 0.00000001
  EXPECT_FALSE(get_numeric(encode(0, 0, {1, 100, 1})).has_value());
  EXPECT_FALSE(get_numeric(encode(12, 0, {1})).has_value());
  EXPECT_FALSE(get_numeric(encode(0, 0, {10000})).has_value());
  EXPECT_FALSE(get_numeric("").has_value());
  EXPECT_FALSE(get_numeric(encode(0, 0, {1}) + "x").has_value());
}

}  // namespace
}  // namespace kudos::db
