#include "kudos/uuid.h"

#include <algorithm>
#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid.hpp>
#include <chrono>
#include <openssl/rand.h>

#include "base/check.h"

namespace kudos {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr bool dash_before(std::size_t byte) { return byte == 4 || byte == 6 || byte == 8 || byte == 10; }

bool parse_into(std::string_view text, Uuid& id) {
  if (text.size() != 36) return false;
  std::size_t at = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    if (dash_before(i) && text[at++] != '-') return false;
    const int high = hex_value(text[at]), low = hex_value(text[at + 1]);
    if (high < 0 || low < 0) return false;
    id.bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
    at += 2;
  }
  return true;
}

}  // namespace

Uuid Uuid::v7() {
  Uuid id;
  KUDOS_CHECK(RAND_bytes(id.bytes.data() + 6, 10) == 1);
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  auto milliseconds =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count());
  for (int i = 5; i >= 0; --i, milliseconds >>= 8)
    id.bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(milliseconds);
  id.bytes[6] = static_cast<std::uint8_t>(0x70 | (id.bytes[6] & 0x0F));
  id.bytes[8] = static_cast<std::uint8_t>(0x80 | (id.bytes[8] & 0x3F));
  return id;
}

Uuid Uuid::v5(const Uuid& name_space, std::string_view name) {
  boost::uuids::uuid space;
  std::ranges::copy(name_space.bytes, space.begin());
  const auto made = boost::uuids::name_generator_sha1(space)(name.data(), name.size());
  Uuid id;
  std::ranges::copy(made, id.bytes.begin());
  return id;
}

Result<Uuid> Uuid::parse(std::string_view text) {
  Uuid id;
  if (!parse_into(text, id))
    return fail(ErrorCode::invalid_request, "'" + std::string(text.substr(0, 40)) + "' is not a UUID",
                "Use the form 01234567-89ab-cdef-0123-456789abcdef.");
  return id;
}

std::string Uuid::to_string() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (dash_before(i)) text += '-';
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace kudos
