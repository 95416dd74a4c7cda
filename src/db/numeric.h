// PostgreSQL's binary NUMERIC for values in hundredths.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kudos/amount.h"

namespace kudos::db {

// Appends the binary form (without a length) of hundredths/100 with a display scale of two.
void put_numeric(std::string& out, Int128 hundredths);

// The value in hundredths; nothing for NaN, infinities, more than two significant decimals or a magnitude of 10^34 and
// beyond, and for malformed bytes.
std::optional<Int128> get_numeric(std::string_view bytes);

}  // namespace kudos::db
