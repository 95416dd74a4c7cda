#include "cli/status_board.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/try.h"

namespace kudos::cli {
namespace {

constexpr std::int32_t kLeaders = 5;

void print(const store::Health& health, const Rates& rates) {
  auto object = to_json(health);
  object["accepted_per_second"] = rates.accepted_per_second;
  object["folded_per_second"] = rates.folded_per_second;
  print_json(object);
  std::fflush(stdout);
}

}  // namespace

void StatusBoard::show(std::int64_t accepted, std::int64_t folded) {
  const Rates rates = rates_since_last(accepted, folded);
  const Status drawn = draw(rates);
  if (drawn) return;
  connection_.reset();
  if (globals_.json)
    report(globals_, drawn.error());
  else
    screen_.draw("no answer from the database: " + drawn.error().message);
}

Rates StatusBoard::rates_since_last(std::int64_t accepted, std::int64_t folded) {
  const auto now = Clock::now();
  const double seconds = std::max(1e-3, std::chrono::duration<double>(now - last_).count());
  const Rates rates{static_cast<double>(accepted - accepted_) / seconds,
                    static_cast<double>(folded - folded_) / seconds};
  last_ = now;
  accepted_ = accepted;
  folded_ = folded;
  return rates;
}

Status StatusBoard::draw(const Rates& rates) {
  if (!connection_) {
    KUDOS_ASSIGN(auto connection, db::Connection::open(conninfo_, {.schema = globals_.schema}));
    connection_.emplace(std::move(connection));
  }
  KUDOS_ASSIGN(const auto health, store::read_health(*connection_));
  KUDOS_ASSIGN(const auto leaders, read_leaders(*connection_, kLeaders));
  if (globals_.json)
    print(health, rates);
  else
    screen_.draw(describe(health, &rates) + "\n" + describe(leaders));
  return {};
}

}  // namespace kudos::cli
