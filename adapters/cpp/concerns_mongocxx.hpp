// Concerns and read preferences of messages, as mongocxx has them.
#pragma once

#include <cstring>
#include <map>
#include <string>

#include <mongocxx/read_concern.hpp>
#include <mongocxx/read_preference.hpp>
#include <mongocxx/write_concern.hpp>

#include "bson.hpp"

static const std::map<std::string, mongocxx::read_preference::read_mode> MODES = {
    {"primary", mongocxx::read_preference::read_mode::k_primary},
    {"primaryPreferred", mongocxx::read_preference::read_mode::k_primary_preferred},
    {"secondary", mongocxx::read_preference::read_mode::k_secondary},
    {"secondaryPreferred", mongocxx::read_preference::read_mode::k_secondary_preferred},
    {"nearest", mongocxx::read_preference::read_mode::k_nearest}};

inline mongocxx::write_concern write_concern(Document message) {
  mongocxx::write_concern made;
  auto w = message["w"];
  if (w && w.text() == nullptr) {
    made.nodes(static_cast<std::int32_t>(w.integer()));
  } else if (w && std::strcmp(w.text(), "majority") == 0) {
    made.acknowledge_level(mongocxx::write_concern::level::k_majority);
  } else if (w) {
    made.tag(w.text());
  }
  if (message["j"]) made.journal(message["j"].integer() != 0);
  return made;
}

inline mongocxx::read_concern read_concern(const char* level) {
  mongocxx::read_concern made;
  made.acknowledge_string(level);
  return made;
}

inline mongocxx::read_preference read_preference(const char* mode) {
  mongocxx::read_preference made;
  made.mode(MODES.at(mode));
  return made;
}
