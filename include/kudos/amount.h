// Money: exact decimals with two places.
//
// `Amount` is what one posting may carry: |amount| < 10^18 kudos. `Total` is a sum of many (a balance, a counter), as
// wide as NUMERIC(30,2). Neither can be made from a floating-point number: that doesn't compile. Arithmetic is
// checked: leaving the range of the type stops the process, since validated amounts can't do it.
//
// Thread-safety: plain values. Source: contract, "Amounts".
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "kudos/error.h"

namespace kudos {

__extension__ typedef __int128 Int128;

namespace amount_detail {
constexpr Int128 pow10(int exponent) {
  Int128 value = 1;
  for (int i = 0; i < exponent; ++i) value *= 10;
  return value;
}
[[noreturn]] void overflow(const char* what);
}  // namespace amount_detail

class Total;

class Amount {
 public:
  // Exclusive bound of the magnitude, in hundredths.
  static constexpr Int128 kLimit = amount_detail::pow10(20);

  constexpr Amount() = default;
  template <std::floating_point T>
  Amount(T) = delete;

  // Whole kudos: Amount::whole(25) is 25.00.
  static constexpr Amount whole(std::int64_t kudos) { return from_hundredths(static_cast<Int128>(kudos) * 100); }
  static constexpr Amount from_hundredths(Int128 hundredths) {
    if (hundredths <= -kLimit || hundredths >= kLimit) amount_detail::overflow("amount");
    Amount amount;
    amount.hundredths_ = hundredths;
    return amount;
  }

  // Accepts [-]digits[.d[d]]. Refuses, by name: anything else, NaN, infinities and exponents (invalid_amount), a
  // third decimal (amount_too_precise), 10^18 and beyond (amount_out_of_range).
  static Result<Amount> parse(std::string_view text);

  constexpr Int128 hundredths() const { return hundredths_; }
  constexpr bool is_zero() const { return hundredths_ == 0; }
  constexpr bool is_positive() const { return hundredths_ > 0; }
  constexpr bool is_negative() const { return hundredths_ < 0; }
  constexpr Amount operator-() const { return from_hundredths(-hundredths_); }
  constexpr auto operator<=>(const Amount&) const = default;

  // This amount times numerator/denominator, rounded once, half to even, at two decimals. `denominator` > 0;
  // refuses a product out of range (amount_out_of_range).
  Result<Amount> scaled(std::int64_t numerator, std::int64_t denominator) const;

  // Always two decimals: "12.50", "-0.01".
  std::string to_string() const;

 private:
  Int128 hundredths_ = 0;
};

class Total {
 public:
  // Exclusive bound of the magnitude, in hundredths: NUMERIC(30,2).
  static constexpr Int128 kLimit = amount_detail::pow10(30);

  constexpr Total() = default;
  template <std::floating_point T>
  Total(T) = delete;
  constexpr Total(Amount amount) : hundredths_(amount.hundredths()) {}

  static constexpr Total whole(std::int64_t kudos) { return from_hundredths(static_cast<Int128>(kudos) * 100); }
  static constexpr Total from_hundredths(Int128 hundredths) {
    if (hundredths <= -kLimit || hundredths >= kLimit) amount_detail::overflow("total");
    Total total;
    total.hundredths_ = hundredths;
    return total;
  }
  // As Amount::parse, with the wider range.
  static Result<Total> parse(std::string_view text);

  constexpr Int128 hundredths() const { return hundredths_; }
  constexpr bool is_zero() const { return hundredths_ == 0; }
  constexpr bool is_negative() const { return hundredths_ < 0; }
  constexpr auto operator<=>(const Total&) const = default;
  constexpr Total operator-() const { return from_hundredths(-hundredths_); }
  constexpr Total& operator+=(Total other) { return *this = from_hundredths(hundredths_ + other.hundredths_); }
  constexpr Total& operator-=(Total other) { return *this = from_hundredths(hundredths_ - other.hundredths_); }
  friend constexpr Total operator+(Total a, Total b) { return a += b; }
  friend constexpr Total operator-(Total a, Total b) { return a -= b; }

  // Refuses a total that one posting can't carry (amount_out_of_range).
  Result<Amount> to_amount() const;
  std::string to_string() const;

 private:
  Int128 hundredths_ = 0;
};

}  // namespace kudos
