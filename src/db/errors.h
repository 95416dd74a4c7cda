// From what PostgreSQL or libpq said to an `Error`.
#pragma once

#include <string>
#include <string_view>

#include "kudos/error.h"

namespace kudos::db {

// An error that the server reported. States of our own class (KD…) carry the stable name in front of the message.
Error server_error(std::string_view sqlstate, std::string_view message, std::string_view hint,
                   std::string_view statement);

// The connection went away. With `commit_sent` the transaction may have been committed.
Error lost_connection(std::string message, std::string_view statement, bool commit_sent);

// libpq's messages end in newlines and may have several lines.
std::string one_line(std::string_view text);

}  // namespace kudos::db
