#include "kudos/amount.h"

#include <algorithm>

#include "base/check.h"
#include "base/decimal.h"
#include "base/try.h"

namespace kudos {
namespace {

constexpr std::string_view kAmountRange = "magnitudes below 1000000000000000000 (10^18)";
constexpr std::string_view kTotalRange = "magnitudes below 10^28";

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string shown{text.substr(0, kShown)};
  return "'" + shown + (text.size() > kShown ? "…'" : "'");
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Splits [-]digits[.digits]; false when the text has another form.
bool split(std::string_view text, bool& negative, std::string_view& whole, std::string_view& fraction) {
  negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto point = text.find('.');
  whole = text.substr(0, point);
  fraction = point == std::string_view::npos ? std::string_view{} : text.substr(point + 1);
  if (whole.empty() || (point != std::string_view::npos && fraction.empty())) return false;
  return std::ranges::all_of(whole, is_digit) && std::ranges::all_of(fraction, is_digit);
}

Result<Int128> parse_hundredths(std::string_view text, Int128 limit, std::string_view range) {
  bool negative = false;
  std::string_view whole, fraction;
  if (!split(text, negative, whole, fraction))
    return fail(ErrorCode::invalid_amount, quoted(text) + " is not an amount",
                "Write a plain decimal such as 12 or 12.50: no exponent, no sign but '-', no separators.");
  if (fraction.size() > 2)
    return fail(ErrorCode::amount_too_precise, quoted(text) + " has more than two decimals", "Round it to hundredths.");
  const auto significant = whole.substr(std::min(whole.find_first_not_of('0'), whole.size()));
  if (significant.size() > 30)
    return fail(ErrorCode::amount_out_of_range, quoted(text) + " is out of range: allowed are " + std::string(range));
  Int128 value = 0;
  for (const char digit : significant) value = value * 10 + (digit - '0');
  for (std::size_t i = 0; i < 2; ++i) value = value * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
  if (value >= limit)
    return fail(ErrorCode::amount_out_of_range, quoted(text) + " is out of range: allowed are " + std::string(range));
  return negative ? -value : value;
}

}  // namespace

std::string hundredths_to_string(Int128 value) {
  char buffer[48];
  char* end = buffer + sizeof buffer;
  char* at = end;
  const bool negative = value < 0;
  // INT128_MIN is far outside every range in use.
  Int128 rest = negative ? -value : value;
  for (int digit = 0; digit < 3 || rest != 0; ++digit) {
    if (digit == 2) *--at = '.';
    *--at = static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  }
  if (negative) *--at = '-';
  return {at, end};
}

Int128 divide_half_even(Int128 numerator, Int128 denominator) {
  KUDOS_CHECK(denominator > 0);
  const bool negative = numerator < 0;
  const Int128 magnitude = negative ? -numerator : numerator;
  Int128 quotient = magnitude / denominator;
  const Int128 twice = 2 * (magnitude % denominator);
  if (twice > denominator || (twice == denominator && quotient % 2 != 0)) ++quotient;
  return negative ? -quotient : quotient;
}

Result<Amount> Amount::parse(std::string_view text) {
  KUDOS_ASSIGN(const Int128 value, parse_hundredths(text, kLimit, kAmountRange));
  return from_hundredths(value);
}

Result<Amount> Amount::scaled(std::int64_t numerator, std::int64_t denominator) const {
  // |hundredths| < 10^20 < 2^67 and |numerator| < 2^63: the product can leave 128 bits.
  Int128 product = 0;
  if (__builtin_mul_overflow(hundredths_, static_cast<Int128>(numerator), &product))
    return fail(ErrorCode::amount_out_of_range, to_string() + " × " + std::to_string(numerator) + " is out of range");
  const Int128 value = divide_half_even(product, denominator);
  if (value <= -kLimit || value >= kLimit)
    return fail(ErrorCode::amount_out_of_range,
                hundredths_to_string(value) + " is out of range: allowed are " + std::string(kAmountRange));
  return from_hundredths(value);
}

std::string Amount::to_string() const { return hundredths_to_string(hundredths_); }

Result<Total> Total::parse(std::string_view text) {
  KUDOS_ASSIGN(const Int128 value, parse_hundredths(text, kLimit, kTotalRange));
  return from_hundredths(value);
}

Result<Amount> Total::to_amount() const {
  if (hundredths_ <= -Amount::kLimit || hundredths_ >= Amount::kLimit)
    return fail(ErrorCode::amount_out_of_range,
                to_string() + " doesn't fit one posting: allowed are " + std::string(kAmountRange));
  return Amount::from_hundredths(hundredths_);
}

std::string Total::to_string() const { return hundredths_to_string(hundredths_); }

}  // namespace kudos
