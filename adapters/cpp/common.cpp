// What all parts share: the clock, text, samples, errors, the end of stdin in a turn.
#include <cxxabi.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "harness.hpp"

std::int64_t epoch_ns;
std::atomic<bool> stopped{false};
int stop_fd = -1;

std::int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec - epoch_ns;
}

bool sleep_until(std::int64_t due_ns) {
  // The library's sleep_until would not do: SIGTERM interrupts only one thread.
  pollfd stop = {stop_fd, POLLIN, 0};
  for (std::int64_t left_ns; (left_ns = due_ns - now_ns()) > 0;) {
    timespec left = {left_ns / 1000000000, left_ns % 1000000000};
    ppoll(&stop, 1, &left, nullptr);
    if (stopped) return false;
  }
  return true;
}

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (char each : text) {
    char escaped[8];
    if (each == '"' || each == '\\') made += '\\';
    if (static_cast<unsigned char>(each) < ' ') {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(each));
      made += escaped;
    } else {
      made += each;
    }
  }
  return made + "\"";
}

std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string to_hex(const std::string& bytes) {
  static const char DIGITS[] = "0123456789abcdef";
  std::string digits;
  for (char each : bytes) {
    digits += DIGITS[static_cast<unsigned char>(each) >> 4];
    digits += DIGITS[each & 15];
  }
  return digits;
}

std::string class_name(const std::exception& fault) {
  int status;
  std::unique_ptr<char, void (*)(void*)> whole(
      abi::__cxa_demangle(typeid(fault).name(), nullptr, nullptr, &status), std::free);
  std::string name = whole ? whole.get() : typeid(fault).name();
  return name.substr(name.rfind(':') + 1);
}

static const std::int64_t HELD_NS = 1000000000;

void watch_stdin(int done_fd) {
  pollfd watched[] = {{STDIN_FILENO, 0, 0}, {done_fd, POLLIN, 0}};
  while ((watched[1].revents & POLLIN) == 0) {
    // The core has ended: no line comes in a turn.
    if (poll(watched, 2, -1) > 0 && watched[0].revents != 0) _exit(0);
  }
  eventfd_t done;
  eventfd_read(done_fd, &done);
}

int create_samples(Document message) {
  const char* path = message["samples"].text();
  // Opened to append: the kernel keeps the writes of several threads apart.
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) throw Refusal("internal", std::string(path) + ": cannot be made");
  return fd;
}

void Samples::add(std::int64_t intended_ns, std::int64_t start_ns, std::int64_t end_ns,
                  std::uint64_t index, std::uint8_t operation, Outcome outcome,
                  std::uint32_t worker) {
  held_[count_++] = {intended_ns,
                     start_ns,
                     end_ns - start_ns,
                     static_cast<std::uint32_t>(index),
                     operation,
                     outcome,
                     static_cast<std::uint16_t>(worker)};
  if (count_ == HELD || end_ns - written_ns_ >= HELD_NS) {
    flush();
    written_ns_ = end_ns;
  }
}

void Samples::flush() {
  auto bytes = count_ * sizeof(Sample);
  count_ = 0;
  if (write(fd_, held_.data(), bytes) == static_cast<ssize_t>(bytes)) return;
  perror("samples");
  _exit(1);  // the core reads the reason in the log
}

void Errors::note(const Failure& failure) {
  std::lock_guard<std::mutex> guard(lock_);
  for (auto& known : counted_) {
    if (known.first.code == failure.code && known.first.name == failure.name) {
      known.second++;
      return;
    }
  }
  counted_.emplace_back(failure, 1);
}

std::string Errors::json() const {
  std::string text;
  for (const auto& each : counted_) {
    text += std::string(text.empty() ? "" : ",") + "{\"code\":" + std::to_string(each.first.code) +
            ",\"name\":" + quoted(each.first.name) + ",\"count\":" + std::to_string(each.second) +
            ",\"message\":" + quoted(each.first.message) + "}";
  }
  return "[" + text + "]";
}
