#include "base/check.h"

#include <cstdio>
#include <cstdlib>

#include "kudos/amount.h"

namespace kudos {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "kudos: internal error: %s does not hold (%s:%d)\n", condition, file, line);
  std::abort();
}

void amount_detail::overflow(const char* what) {
  std::fprintf(stderr, "kudos: internal error: %s out of range\n", what);
  std::abort();
}

}  // namespace kudos
