// Early return for `Result`: KUDOS_TRY(status_expr) and KUDOS_ASSIGN(declaration, result_expr).
#pragma once

#include <utility>

#define KUDOS_CONCAT_(a, b) a##b
#define KUDOS_CONCAT(a, b) KUDOS_CONCAT_(a, b)

#define KUDOS_TRY(expression)                                          \
  do {                                                                 \
    if (auto kudos_status_ = (expression); !kudos_status_.has_value()) \
      return std::unexpected(std::move(kudos_status_).error());        \
  } while (false)

#define KUDOS_ASSIGN(declaration, expression) \
  KUDOS_ASSIGN_(KUDOS_CONCAT(kudos_result_, __COUNTER__), declaration, expression)
#define KUDOS_ASSIGN_(name, declaration, expression)                      \
  auto name = (expression);                                               \
  if (!name.has_value()) return std::unexpected(std::move(name).error()); \
  declaration = *std::move(name)
