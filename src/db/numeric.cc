#include "db/numeric.h"

#include <array>

#include "db/wire.h"

namespace kudos::db {
namespace {

constexpr std::int16_t kPositive = 0x0000, kNegative = 0x4000;
constexpr std::size_t kHeaderBytes = 8;
constexpr int kMaxDigits = 10;  // base-10000 digits that fit 128 bits with room to spare

}  // namespace

void put_numeric(std::string& out, Int128 hundredths) {
  const bool negative = hundredths < 0;
  // Two more decimals make the fraction a whole base-10000 digit.
  Int128 rest = (negative ? -hundredths : hundredths) * 100;
  std::array<std::int16_t, kMaxDigits> digits;  // least significant first
  int count = 0;
  while (rest != 0) {
    digits[static_cast<std::size_t>(count++)] = static_cast<std::int16_t>(rest % 10000);
    rest /= 10000;
  }
  int trailing_zeros = 0;
  while (trailing_zeros < count && digits[static_cast<std::size_t>(trailing_zeros)] == 0) ++trailing_zeros;
  put<std::int16_t>(out, static_cast<std::int16_t>(count - trailing_zeros));
  put<std::int16_t>(out, static_cast<std::int16_t>(count == 0 ? 0 : count - 2));
  put<std::int16_t>(out, negative ? kNegative : kPositive);
  put<std::int16_t>(out, 2);
  for (int i = count - 1; i >= trailing_zeros; --i) put<std::int16_t>(out, digits[static_cast<std::size_t>(i)]);
}

std::optional<Int128> get_numeric(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  const auto count = get<std::int16_t>(bytes.data());
  const auto weight = get<std::int16_t>(bytes.data() + 2);
  const auto sign = get<std::int16_t>(bytes.data() + 4);
  if (sign != kPositive && sign != kNegative) return std::nullopt;
  if (count < 0 || bytes.size() != kHeaderBytes + 2 * static_cast<std::size_t>(count)) return std::nullopt;
  if (weight > 8 || count > kMaxDigits) return std::nullopt;
  Int128 value = 0;  // in ten-thousandths
  for (int position = weight, i = 0; position >= -1; --position, ++i) {
    const auto digit = i < count ? get<std::int16_t>(bytes.data() + kHeaderBytes + 2 * i) : std::int16_t{0};
    if (digit < 0 || digit > 9999) return std::nullopt;
    value = value * 10000 + digit;
  }
  // Digits behind the fourth decimal are left over when the value has more decimals than two.
  const int digits_used = weight + 2;
  for (int i = digits_used < 0 ? 0 : digits_used; i < count; ++i)
    if (get<std::int16_t>(bytes.data() + kHeaderBytes + 2 * i) != 0) return std::nullopt;
  if (value % 100 != 0) return std::nullopt;
  value /= 100;
  return sign == kNegative ? -value : value;
}

}  // namespace kudos::db
