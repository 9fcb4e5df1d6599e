// Flat BSON as bytes: messages, pools and answers are read without building objects.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

template <class T>
T load(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

class Document;

struct Element {
  enum Type : std::uint8_t {
    END = 0,
    DOUBLE = 1,
    STRING = 2,
    DOCUMENT = 3,
    ARRAY = 4,
    BINARY = 5,
    OBJECTID = 7,
    BOOL = 8,
    DATE = 9,
    NULL_VALUE = 10,
    REGEX = 11,
    POINTER = 12,
    CODE = 13,
    SYMBOL = 14,
    SCOPED = 15,
    INT32 = 16,
    TIMESTAMP = 17,
    INT64 = 18,
    DECIMAL = 19
  };

  std::uint8_t type = END;
  const char* name = nullptr;
  const std::uint8_t* value = nullptr;

  explicit operator bool() const { return type != END && type != NULL_VALUE; }

  std::int64_t integer(std::int64_t otherwise = 0) const {
    switch (type) {
      case BOOL:
        return *value;
      case INT32:
        return load<std::int32_t>(value);
      case INT64:
        return load<std::int64_t>(value);
      case DOUBLE:
        return static_cast<std::int64_t>(load<double>(value));
      default:
        return otherwise;
    }
  }

  const char* text() const {
    return type == STRING ? reinterpret_cast<const char*>(value) + 4 : nullptr;
  }

  inline Document document() const;

  std::uint32_t size() const {
    switch (type) {
      case DOUBLE:
      case DATE:
      case TIMESTAMP:
      case INT64:
        return 8;
      case STRING:
      case CODE:
      case SYMBOL:
        return 4 + load<std::uint32_t>(value);
      case DOCUMENT:
      case ARRAY:
      case SCOPED:
        return load<std::uint32_t>(value);
      case BINARY:
        return 5 + load<std::uint32_t>(value);
      case OBJECTID:
        return 12;
      case BOOL:
        return 1;
      case INT32:
        return 4;
      case DECIMAL:
        return 16;
      case POINTER:
        return 16 + load<std::uint32_t>(value);
      case REGEX: {
        auto pattern = reinterpret_cast<const char*>(value);
        auto length = std::strlen(pattern) + 1;
        return static_cast<std::uint32_t>(length + std::strlen(pattern + length) + 1);
      }
      default:
        return 0;
    }
  }
};

// A view: its creator keeps the bytes.
class Document {
 public:
  Document() = default;
  explicit Document(const std::uint8_t* bytes) : bytes_(bytes) {}
  explicit Document(const std::string& bytes)
      : bytes_(reinterpret_cast<const std::uint8_t*>(bytes.data())) {}

  explicit operator bool() const { return bytes_ != nullptr; }
  const std::uint8_t* data() const { return bytes_; }
  std::uint32_t size() const { return load<std::uint32_t>(bytes_); }

  // Calls `visit` for each element until it returns false.
  template <class Visit>
  void each(Visit visit) const {
    for (const std::uint8_t* at = bytes_ + 4; *at != Element::END;) {
      Element element;
      element.type = *at;
      element.name = reinterpret_cast<const char*>(at + 1);
      element.value = at + 2 + std::strlen(element.name);
      if (!visit(element)) return;
      at = element.value + element.size();
    }
  }

  Element operator[](const char* name) const {
    Element found;
    if (bytes_ == nullptr) return found;
    each([&](const Element& element) {
      if (std::strcmp(element.name, name) != 0) return true;
      found = element;
      return false;
    });
    return found;
  }

 private:
  const std::uint8_t* bytes_ = nullptr;
};

Document Element::document() const {
  return type == DOCUMENT || type == ARRAY ? Document(value) : Document();
}
