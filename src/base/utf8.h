// UTF-8 as PostgreSQL accepts it.
#pragma once

#include <cstddef>
#include <string_view>

namespace kudos {

// Well-formed: no overlong forms, surrogates or code points beyond U+10FFFF. NUL passes; callers refuse it as a control
// character.
bool is_utf8(std::string_view text);

// The number of characters of well-formed UTF-8, as varchar(n) counts them.
std::size_t utf8_characters(std::string_view text);

}  // namespace kudos
