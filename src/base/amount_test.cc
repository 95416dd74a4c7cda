#include "kudos/amount.h"

#include <gtest/gtest.h>

#include "base/decimal.h"

namespace kudos {
namespace {

struct ParseCase {
  const char* text;
  const char* shown;  // null: refused
  ErrorCode code;
};

// Scenario M4, and M3 for the edges of the range.
constexpr ErrorCode kNone{};
const ParseCase kParseCases[] = {
    {"0", "0.00", kNone},
    {"-0", "0.00", kNone},
    {"12", "12.00", kNone},
    {"12.5", "12.50", kNone},
    {"-0.01", "-0.01", kNone},
    {"007.10", "7.10", kNone},
    {"9007199254740993.01", "9007199254740993.01", kNone},
    {"999999999999999999.99", "999999999999999999.99", kNone},
    {"-999999999999999999.99", "-999999999999999999.99", kNone},
    {"1000000000000000000.00", nullptr, ErrorCode::amount_out_of_range},
    {"99999999999999999999999999999999999999999", nullptr, ErrorCode::amount_out_of_range},
    {"1.234", nullptr, ErrorCode::amount_too_precise},
    {"1.230", nullptr, ErrorCode::amount_too_precise},
    {"", nullptr, ErrorCode::invalid_amount},
    {"-", nullptr, ErrorCode::invalid_amount},
    {".", nullptr, ErrorCode::invalid_amount},
    {".5", nullptr, ErrorCode::invalid_amount},
    {"5.", nullptr, ErrorCode::invalid_amount},
    {"+5", nullptr, ErrorCode::invalid_amount},
    {" 5", nullptr, ErrorCode::invalid_amount},
    {"1e3", nullptr, ErrorCode::invalid_amount},
    {"1,000", nullptr, ErrorCode::invalid_amount},
    {"NaN", nullptr, ErrorCode::invalid_amount},
    {"inf", nullptr, ErrorCode::invalid_amount},
    {"--1", nullptr, ErrorCode::invalid_amount},
    {"\xD9\xA3", nullptr, ErrorCode::invalid_amount},  // an Arabic digit
};

TEST(AmountTest, Parse) {
  for (const ParseCase& each : kParseCases) {
    const auto amount = Amount::parse(each.text);
    if (each.shown != nullptr) {
      ASSERT_TRUE(amount.has_value()) << each.text;
      EXPECT_EQ(amount->to_string(), each.shown) << each.text;
    } else {
      ASSERT_FALSE(amount.has_value()) << each.text;
      EXPECT_EQ(amount.error().code, each.code) << each.text;
    }
  }
}

struct ScaleCase {
  Int128 hundredths;
  std::int64_t numerator, denominator;
  Int128 expected;
};

// Half to even, once.
const ScaleCase kScaleCases[] = {
    {100, 1, 2, 50},   {101, 1, 2, 50},         {103, 1, 2, 52},
    {-101, 1, 2, -50}, {-103, 1, 2, -52},       {1, 1, 2, 0},
    {3, 1, 2, 2},      {200, 2, 3, 133},        {100, 15, 10, 150},
    {0, 7, 3, 0},      {25000, 50, 100, 12500}, {25000, 45, 100, 11250},
};

TEST(AmountTest, ScaledRoundsHalfToEven) {
  for (const ScaleCase& each : kScaleCases) {
    const auto scaled = Amount::from_hundredths(each.hundredths).scaled(each.numerator, each.denominator);
    ASSERT_TRUE(scaled.has_value());
    EXPECT_EQ(scaled->hundredths(), each.expected) << hundredths_to_string(each.hundredths);
  }
}

// Scenario M1.
TEST(AmountTest, PartsSumToTheWhole) {
  const Amount whole = *Amount::parse("250.00");
  const Amount half = *whole.scaled(50, 100), rest = *whole.scaled(45, 100);
  EXPECT_EQ(Total(half) + rest + (Total(whole) - half - rest), Total(whole));
  EXPECT_EQ((Total(whole) - half - rest).to_string(), "12.50");
}

TEST(AmountTest, ScaledRefusesToLeaveTheRange) {
  const Amount largest = Amount::from_hundredths(Amount::kLimit - 1);
  EXPECT_EQ(largest.scaled(2, 1).error().code, ErrorCode::amount_out_of_range);
  EXPECT_EQ(largest.scaled(INT64_MAX, 1).error().code, ErrorCode::amount_out_of_range);
  EXPECT_EQ(*largest.scaled(1, 1), largest);
}

TEST(TotalTest, IsWiderThanAnAmount) {
  const Total total = Total(Amount::from_hundredths(Amount::kLimit - 1)) + Amount::from_hundredths(Amount::kLimit - 1);
  EXPECT_EQ(total.to_string(), "1999999999999999999.98");
  EXPECT_EQ(total.to_amount().error().code, ErrorCode::amount_out_of_range);
  EXPECT_EQ(Total::parse("9999999999999999999999999999.99")->to_string(), "9999999999999999999999999999.99");
  EXPECT_FALSE(Total::parse("10000000000000000000000000000.00").has_value());
}

TEST(AmountDeathTest, ArithmeticIsChecked) {
  EXPECT_DEATH(Amount::from_hundredths(Amount::kLimit), "amount out of range");
  EXPECT_DEATH(Total::from_hundredths(Total::kLimit - 1) + Total::whole(1), "total out of range");
}

static_assert(!std::is_constructible_v<Amount, double>, "money is never made from binary floating point");
static_assert(!std::is_constructible_v<Total, float>);

}  // namespace
}  // namespace kudos
