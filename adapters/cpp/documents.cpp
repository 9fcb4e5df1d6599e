// Pools, and what operations are given: copies of flat BSON, stamped in place. SPEC 4 to 6.
#include <ctime>
#include <fstream>
#include <sstream>

#include "harness.hpp"

namespace {

const std::uint32_t GUID_BYTES = 16, GUID_TEXT = 36;
const char DIGITS[] = "0123456789abcdef";

template <class T>
void store(std::uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// The record's guid, its first four bytes XORed with the shift's low half, its last ones with the
// high half.
void put_guid(const Input& input, std::uint8_t* to) {
  std::memcpy(to, input.guid, GUID_BYTES);
  store(to, load<std::uint32_t>(to) ^ static_cast<std::uint32_t>(input.shift));
  store(to + 12, load<std::uint32_t>(to + 12) ^ static_cast<std::uint32_t>(input.shift >> 32));
}

void put_guid_text(const Input& input, std::uint8_t* to) {
  std::uint8_t guid[GUID_BYTES];
  put_guid(input, guid);
  for (std::uint32_t i = 0; i < GUID_BYTES; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *to++ = '-';
    *to++ = static_cast<std::uint8_t>(DIGITS[guid[i] >> 4]);
    *to++ = static_cast<std::uint8_t>(DIGITS[guid[i] & 15]);
  }
}

enum class As { INT32, INT64, DOUBLE, DATE, STRING, OBJECTID, GUID, GUID_STRING };
const std::pair<const char*, Element::Type> FORMS[] = {
    {"int32", Element::INT32}, {"int64", Element::INT64},       {"double", Element::DOUBLE},
    {"date", Element::DATE},   {"string", Element::STRING},     {"objectid", Element::OBJECTID},
    {"guid", Element::BINARY}, {"guid_string", Element::STRING}};

enum class From { KEY, SEQUENCE, PRODUCER, MADE_NS, TIME_MS };
const char* const SOURCES[] = {"key", "sequence", "producer", "made_ns", "time_ms"};

const char* name_of(const std::pair<const char*, Element::Type>& form) { return form.first; }
const char* name_of(const char* name) { return name; }

template <class T, std::size_t N>
std::size_t number_of(const T (&names)[N], const Element& word, const char* otherwise) {
  const char* wanted = word ? word.text() : otherwise;
  for (std::size_t i = 0; i < N; i++) {
    if (std::strcmp(name_of(names[i]), wanted) == 0) return i;
  }
  throw Refusal("unsupported", std::string("a stamp of ") + wanted);
}

}  // namespace

struct Stamp {
  explicit Stamp(Document message)
      : as(static_cast<As>(number_of(FORMS, message["as"], ""))),
        from(static_cast<From>(number_of(SOURCES, message["from"], "key"))),
        add(message["add"].integer()),
        width(static_cast<std::uint32_t>(message["width"].integer())) {
    if (message["prefix"]) prefix = message["prefix"].text();
    if (as == As::OBJECTID) prefix = from_hex(prefix);
    message["path"].document().each([this](const Element& step) {
      path.emplace_back(step.text());
      return true;
    });
  }

  // The offset of the value, or 0 if a document has none of its type and length.
  std::uint32_t offset(Document document) const {
    Element at;
    Document in = document;
    for (const auto& step : path) {
      if (!in) return 0;
      at = in[step.c_str()];
      in = at.document();
    }
    if (at.type != FORMS[static_cast<std::size_t>(as)].second) return 0;
    auto text =
        as == As::GUID_STRING ? GUID_TEXT : static_cast<std::uint32_t>(prefix.size()) + width;
    if (at.type == Element::STRING && load<std::uint32_t>(at.value) != text + 1) return 0;
    if (at.type == Element::BINARY && load<std::uint32_t>(at.value) != GUID_BYTES) return 0;
    return static_cast<std::uint32_t>(at.value - document.data());
  }

  std::int64_t value(const Input& input) const {
    switch (from) {
      case From::KEY:
        return input.key + static_cast<std::int64_t>(input.shift);
      case From::SEQUENCE:
        return input.sequence;
      case From::PRODUCER:
        return input.producer;
      case From::MADE_NS:
        return input.live ? now_ns() : input.made_ns;
      default:
        break;
    }
    if (!input.live) return input.time_ms;
    timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    return wall.tv_sec * 1000 + wall.tv_nsec / 1000000;
  }

  void put(const Input& input, std::uint8_t* at) const {
    if (as == As::GUID) return put_guid(input, at + 5);
    if (as == As::GUID_STRING) return put_guid_text(input, at + 4);
    auto put = value(input) + add;
    auto rest = static_cast<std::uint64_t>(put);
    switch (as) {
      case As::INT32:
        return store(at, static_cast<std::int32_t>(put));
      case As::DOUBLE:
        return store(at, static_cast<double>(put));
      case As::STRING:
        at += 4;
        std::memcpy(at, prefix.data(), prefix.size());
        for (auto i = prefix.size() + width; i-- > prefix.size(); rest /= 10) {
          at[i] = static_cast<std::uint8_t>('0' + rest % 10);
        }
        return;
      case As::OBJECTID:
        std::memcpy(at, prefix.data(), 4);
        return store(at + 4, __builtin_bswap64(rest));
      default:
        return store(at, put);
    }
  }

  As as;
  From from;
  std::int64_t add;
  std::uint32_t width;
  std::string prefix;
  std::vector<std::string> path;
};

Pool::Pool(std::string bytes) : bytes_(std::move(bytes)) {
  for (std::size_t at = 0; at < bytes_.size();) {
    begins_.push_back(static_cast<std::uint32_t>(at));
    auto size = bytes_.size() - at < 5 ? 0 : this->at(length() - 1).size();
    if (size < 5 || size > bytes_.size() - at) throw Refusal("internal", "no whole documents");
    largest_bytes_ = std::max(largest_bytes_, size);
    at += size;
  }
}

Pool Pool::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Refusal("internal", path + ": cannot be read");
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return Pool(bytes.str());
}

Reference::Reference(Document message, const std::vector<Pool>& pools)
    : pool_(&pools.at(static_cast<std::size_t>(message["pool"].integer()))),
      fixed_(message["document"].integer(-1)) {
  if (message["stamps"]) {
    message["stamps"].document().each([this](const Element& stamp) {
      stamps_.emplace_back(stamp.document());
      return true;
    });
  }
  for (std::uint32_t row = 0; row < (fixed_ < 0 ? pool_->length() : 1); row++) {
    auto document = pool_->at(fixed_ < 0 ? row : static_cast<std::uint32_t>(fixed_));
    for (const auto& stamp : stamps_) offsets_.push_back(stamp.offset(document));
  }
}

Reference::~Reference() = default;
Reference::Reference(Reference&&) noexcept = default;

Document Reference::make(std::uint32_t number, const Input& input, std::uint8_t*& to) const {
  auto row = fixed_ < 0 ? number % pool_->length() : 0;
  auto from = pool_->at(fixed_ < 0 ? row : static_cast<std::uint32_t>(fixed_));
  std::memcpy(to, from.data(), from.size());
  Document made(to);
  const std::uint32_t* offset = offsets_.data() + std::size_t(row) * stamps_.size();
  for (const auto& stamp : stamps_) {
    if (*offset != 0) stamp.put(input, to + *offset);
    offset++;
  }
  to += from.size();
  return made;
}
