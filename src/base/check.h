// Assertions that hold in every build: a programmer's error stops the process before it can write a wrong credit.
#pragma once

namespace kudos {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}

#define KUDOS_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::kudos::check_failed(#condition, __FILE__, __LINE__))
