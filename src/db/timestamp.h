// PostgreSQL counts microseconds from 2000-01-01, everything else here from 1970-01-01.
#pragma once

#include <cstdint>

#include "db/params.h"

namespace kudos::db {

inline constexpr std::int64_t kPostgresEpochMicros = 946'684'800'000'000;

inline std::int64_t to_postgres_epoch(Timestamp time) { return time.micros - kPostgresEpochMicros; }
inline Timestamp from_postgres_epoch(std::int64_t micros) { return {micros + kPostgresEpochMicros}; }

}  // namespace kudos::db
