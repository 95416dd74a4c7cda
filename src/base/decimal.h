// Exact decimal helpers behind Amount and Total.
#pragma once

#include <string>

#include "kudos/amount.h"

namespace kudos {

// "12.50" for 1250: always two decimals.
std::string hundredths_to_string(Int128 value);

// Rounds half to even. `denominator` > 0.
Int128 divide_half_even(Int128 numerator, Int128 denominator);

}  // namespace kudos
