#include "base/sha256.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include "base/check.h"

namespace kudos {

struct Sha256::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  // Fetched once: EVP_sha256() would look the algorithm up at every start.
  EVP_MD* algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);

  Impl() { start(); }
  ~Impl() {
    EVP_MD_CTX_free(context);
    EVP_MD_free(algorithm);
  }
  void start() { KUDOS_CHECK(EVP_DigestInit_ex2(context, algorithm, nullptr) == 1); }
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::string_view bytes) {
  KUDOS_CHECK(EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size()) == 1);
}

void Sha256::update(std::span<const std::uint8_t> bytes) {
  KUDOS_CHECK(EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size()) == 1);
}

Digest Sha256::finish() {
  Digest digest;
  unsigned length = 0;
  KUDOS_CHECK(EVP_DigestFinal_ex(impl_->context, digest.data(), &length) == 1 && length == digest.size());
  impl_->start();
  return digest;
}

Digest sha256(std::string_view bytes) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const auto byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace kudos
