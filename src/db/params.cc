#include "db/params.h"

#include "db/numeric.h"
#include "db/timestamp.h"
#include "db/wire.h"

namespace kudos::db {
namespace {

template <std::integral T>
std::string encoded(T value) {
  std::string bytes;
  put(bytes, value);
  return bytes;
}

std::string encoded_numeric(Int128 hundredths) {
  std::string bytes;
  put_numeric(bytes, hundredths);
  return bytes;
}

std::string_view view(const Uuid& id) { return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()}; }

}  // namespace

void Array::null() {
  put<std::int32_t>(elements_, -1);
  has_null_ = true;
  ++count_;
}

void Array::add(std::string_view text) {
  put<std::int32_t>(elements_, static_cast<std::int32_t>(text.size()));
  elements_.append(text);
  ++count_;
}

void Array::add(bool value) {
  put<std::int32_t>(elements_, 1);
  elements_.push_back(value ? '\1' : '\0');
  ++count_;
}

void Array::add(std::int16_t value) {
  put<std::int32_t>(elements_, 2);
  put(elements_, value);
  ++count_;
}

void Array::add(std::int32_t value) {
  put<std::int32_t>(elements_, 4);
  put(elements_, value);
  ++count_;
}

void Array::add(std::int64_t value) {
  put<std::int32_t>(elements_, 8);
  put(elements_, value);
  ++count_;
}

void Array::add(const Uuid& value) { add(view(value)); }
void Array::add(Timestamp value) { add(to_postgres_epoch(value)); }

void Array::add(Tid value) {
  put<std::int32_t>(elements_, 6);
  put(elements_, value.block);
  put(elements_, value.offset);
  ++count_;
}

void Array::add_hundredths(Int128 hundredths) {
  const std::size_t length_at = elements_.size();
  put<std::int32_t>(elements_, 0);
  put_numeric(elements_, hundredths);
  const auto length = to_big_endian(static_cast<std::int32_t>(elements_.size() - length_at - 4));
  std::memcpy(elements_.data() + length_at, &length, sizeof length);
  ++count_;
}

Params& Params::push(std::string bytes, int format) {
  values_.push_back(std::move(bytes));
  nulls_.push_back(0);
  formats_.push_back(format);
  return *this;
}

Params& Params::null() {
  push({});
  nulls_.back() = 1;
  return *this;
}

Params& Params::add(bool value) { return push(std::string(1, value ? '\1' : '\0')); }
Params& Params::add(std::int32_t value) { return push(encoded(value)); }
Params& Params::add(std::int64_t value) { return push(encoded(value)); }
Params& Params::add(std::string_view text) { return push(std::string(text)); }
Params& Params::add(const Uuid& value) { return push(std::string(view(value))); }
Params& Params::add(Amount value) { return push(encoded_numeric(value.hundredths())); }
Params& Params::add(Total value) { return push(encoded_numeric(value.hundredths())); }
Params& Params::add(Timestamp value) { return push(encoded(to_postgres_epoch(value))); }
Params& Params::add_text_format(std::string_view text) { return push(std::string(text), 0); }

Params& Params::add(const Array& array) {
  std::string bytes;
  bytes.reserve(20 + array.elements_.size());
  put<std::int32_t>(bytes, array.count_ == 0 ? 0 : 1);
  put<std::int32_t>(bytes, array.has_null_ ? 1 : 0);
  put<std::int32_t>(bytes, static_cast<std::int32_t>(array.type_));
  if (array.count_ > 0) {
    put<std::int32_t>(bytes, array.count_);
    put<std::int32_t>(bytes, 1);
    bytes.append(array.elements_);
  }
  return push(std::move(bytes));
}

}  // namespace kudos::db
