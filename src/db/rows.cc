#include "db/rows.h"

#include <cstdlib>
#include <libpq-fe.h>
#include <utility>

#include "base/check.h"
#include "db/numeric.h"
#include "db/timestamp.h"
#include "db/wire.h"

namespace kudos::db {

Rows::Rows(pg_result* result) : result_(result) {}
Rows::~Rows() { PQclear(result_); }
Rows::Rows(Rows&& other) noexcept : result_(std::exchange(other.result_, nullptr)) {}
Rows& Rows::operator=(Rows&& other) noexcept {
  std::swap(result_, other.result_);
  return *this;
}

int Rows::size() const { return PQntuples(result_); }
std::int64_t Rows::affected() const { return std::strtoll(PQcmdTuples(result_), nullptr, 10); }
bool Rows::is_null(int row, int column) const { return PQgetisnull(result_, row, column) == 1; }

const char* Rows::fixed(int row, int column, int bytes) const {
  KUDOS_CHECK(PQgetlength(result_, row, column) == bytes);
  return PQgetvalue(result_, row, column);
}

bool Rows::boolean(int row, int column) const { return *fixed(row, column, 1) != 0; }
std::int16_t Rows::int16(int row, int column) const { return get<std::int16_t>(fixed(row, column, 2)); }
std::int32_t Rows::int32(int row, int column) const { return get<std::int32_t>(fixed(row, column, 4)); }
std::int64_t Rows::int64(int row, int column) const { return get<std::int64_t>(fixed(row, column, 8)); }

std::string_view Rows::text(int row, int column) const {
  return {PQgetvalue(result_, row, column), static_cast<std::size_t>(PQgetlength(result_, row, column))};
}

Uuid Rows::uuid(int row, int column) const {
  Uuid id;
  std::memcpy(id.bytes.data(), fixed(row, column, 16), 16);
  return id;
}

Tid Rows::tid(int row, int column) const {
  const char* bytes = fixed(row, column, 6);
  return {get<std::uint32_t>(bytes), get<std::uint16_t>(bytes + 4)};
}

Timestamp Rows::timestamp(int row, int column) const { return from_postgres_epoch(int64(row, column)); }

Total Rows::total(int row, int column) const {
  const auto hundredths = get_numeric(text(row, column));
  KUDOS_CHECK(hundredths.has_value());
  return Total::from_hundredths(*hundredths);
}

Amount Rows::amount(int row, int column) const {
  const auto hundredths = get_numeric(text(row, column));
  KUDOS_CHECK(hundredths.has_value());
  return Amount::from_hundredths(*hundredths);
}

}  // namespace kudos::db
