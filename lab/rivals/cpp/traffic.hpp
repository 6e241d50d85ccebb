// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The windowed traffic, the same as the lab's: what every message holds, how the client checks it
// and how the run is cut into phases. Nothing here knows Asio.
//
// A message is "ANB", a phase tag, the client's number (big-endian u32), its sequence (big-endian
// u64), and from byte 16 on (sequence + 17 i + 31 client) mod 256.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace rivals {

constexpr std::size_t header_bytes = 16;

// What one read may take: room for every message of the largest window the harness asks for, so
// that one read empties the socket.
constexpr std::size_t read_room = 64 * 1024;

using Clock = std::chrono::steady_clock;

struct Load {
    std::size_t payload = 1024;
    std::size_t clients = 16;
    std::size_t window = 1;
    std::size_t threads = 1;
    double warmup = 0.5;
    double seconds = 3.0;
};

// Set by the main thread, read by every client once a turn.
enum class Phase : std::uint8_t { warmup = 0, measured = 1, stopping = 2 };

// The body of every message is a slice of one sequence that repeats after 256 bytes: byte i is
// 17 (i + shift), because 17 has an inverse modulo 256. So a fill is a copy, a check a comparison.
class Pattern {
public:
    explicit Pattern(std::size_t payload) : row_(payload + 256) {
        for (std::size_t i = 0; i < row_.size(); ++i) row_[i] = static_cast<std::uint8_t>(17 * i);
    }

    // The bytes of a message from its own byte 0 on; the header replaces the first sixteen.
    const std::uint8_t* row(std::uint64_t sequence, std::uint32_t client) const {
        constexpr std::uint8_t inverse_of_17 = 241;
        const auto base = static_cast<std::uint8_t>(sequence + 31 * std::uint64_t{client});
        return row_.data() + static_cast<std::uint8_t>(base * inverse_of_17);
    }

private:
    std::vector<std::uint8_t> row_;
};

inline void put_header(std::uint8_t* to, Phase phase, std::uint32_t client, std::uint64_t sequence) {
    to[0] = 'A';
    to[1] = 'N';
    to[2] = 'B';
    to[3] = static_cast<std::uint8_t>(phase);
    for (int i = 0; i < 4; ++i) to[4 + i] = static_cast<std::uint8_t>(client >> (24 - 8 * i));
    for (int i = 0; i < 8; ++i) to[8 + i] = static_cast<std::uint8_t>(sequence >> (56 - 8 * i));
}

// Round trips in nanoseconds, in buckets at most 1/64 wide.
class Histogram {
public:
    void record(std::uint64_t nanoseconds) { ++counts_[bucket(nanoseconds)]; }

    void add(const Histogram& other) {
        for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    }

    // The upper edge of the bucket that holds the quantile, in nanoseconds; 0 when empty.
    std::uint64_t quantile(double q) const {
        std::uint64_t total = 0;
        for (const auto count : counts_) total += count;
        const auto wanted = static_cast<std::uint64_t>(q * static_cast<double>(total));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            seen += counts_[i];
            if (seen > wanted) return upper_edge(i);
        }
        return 0;
    }

private:
    static constexpr unsigned sub_bits = 6;
    static constexpr std::size_t sub = std::size_t{1} << sub_bits;

    static std::size_t bucket(std::uint64_t value) {
        if (value < sub) return value;
        const unsigned shift = 63U - static_cast<unsigned>(__builtin_clzll(value)) - sub_bits;
        return (shift + 1) * sub + ((value >> shift) - sub);
    }

    static std::uint64_t upper_edge(std::size_t index) {
        if (index < sub) return index;
        const std::size_t shift = index / sub - 1;
        return ((std::uint64_t{index % sub} + sub + 1) << shift) - 1;
    }

    std::array<std::uint64_t, (64 - sub_bits + 1) * sub> counts_{};
};

// What all threads of a run share.
struct Run {
    explicit Run(const Load& wanted) : load(wanted), pattern(wanted.payload) {}

    const Load load;
    const Pattern pattern;
    std::atomic<Phase> phase{Phase::warmup};
    std::atomic<std::uint64_t> errors{0};

    void fail() { errors.fetch_add(1, std::memory_order_relaxed); }
};

// The bytes that one end has received and not yet dealt with.
class Input {
public:
    explicit Input(std::size_t payload) : bytes_(read_room + payload) {}

    std::uint8_t* data() { return bytes_.data(); }
    std::size_t size() const { return size_; }
    std::uint8_t* room() { return bytes_.data() + size_; }
    std::size_t room_size() const { return bytes_.size() - size_; }
    void received(std::size_t n) { size_ += n; }

    void consume(std::size_t n) {
        size_ -= n;
        if (size_ != 0) std::memmove(bytes_.data(), bytes_.data() + n, size_);
    }

private:
    std::vector<std::uint8_t> bytes_;
    std::size_t size_ = 0;
};

// The server's turn: how many bytes of the input are whole messages to be echoed.
class Server {
public:
    explicit Server(Run& run) : run_(run) {}

    std::size_t turn(const std::uint8_t* bytes, std::size_t size) {
        const std::size_t payload = run_.load.payload;
        const std::size_t whole = size - size % payload;
        for (std::size_t at = 0; at < whole; at += payload) {
            if (std::memcmp(bytes + at, "ANB", 3) != 0 || bytes[at + 3] > 1) run_.fail();
        }
        return whole;
    }

private:
    Run& run_;
};

// The client's turn: check every whole reply, append one new message for each.
class Client {
public:
    Client(Run& run, std::uint32_t id) : run_(run), id_(id), slots_(run.load.window) {
        output_.reserve(run.load.window * run.load.payload);
    }

    // Fills the window for the first time.
    void begin() {
        const auto now = Clock::now();
        for (std::size_t i = 0; i < run_.load.window; ++i) append(now, Phase::warmup);
    }

    // Deals with what was received; returns the bytes that were whole replies.
    std::size_t turn(const std::uint8_t* bytes, std::size_t size) {
        const std::size_t payload = run_.load.payload;
        const std::size_t whole = size - size % payload;
        if (whole == 0) return 0;
        const auto now = Clock::now();
        const auto phase = run_.phase.load(std::memory_order_relaxed);
        for (std::size_t at = 0; at < whole; at += payload) {
            check(bytes + at, now, phase);
            if (phase != Phase::stopping) append(now, phase);
        }
        const auto done = messages_.load(std::memory_order_relaxed) + whole / payload;
        messages_.store(done, std::memory_order_relaxed);
        return whole;
    }

    bool finished() const { return sent_ == received_; }
    std::vector<std::uint8_t>& output() { return output_; }
    std::uint64_t messages() const { return messages_.load(std::memory_order_relaxed); }
    const Histogram& round_trips() const { return round_trips_; }

private:
    struct Slot {
        Clock::time_point at;
        Phase phase = Phase::warmup;
    };

    void append(Clock::time_point now, Phase phase) {
        const std::size_t payload = run_.load.payload;
        const std::size_t at = output_.size();
        const std::uint8_t* row = run_.pattern.row(sent_, id_);
        output_.insert(output_.end(), row, row + payload);
        put_header(output_.data() + at, phase, id_, sent_);
        slots_[next_sent_] = {now, phase};
        next_sent_ = next_sent_ + 1 == slots_.size() ? 0 : next_sent_ + 1;
        ++sent_;
    }

    void check(const std::uint8_t* message, Clock::time_point now, Phase phase) {
        if (finished()) return run_.fail();
        const Slot slot = slots_[next_received_];
        next_received_ = next_received_ + 1 == slots_.size() ? 0 : next_received_ + 1;
        std::uint8_t header[header_bytes];
        put_header(header, slot.phase, id_, received_);
        const std::uint8_t* row = run_.pattern.row(received_, id_);
        const std::size_t body = run_.load.payload - header_bytes;
        ++received_;
        if (std::memcmp(message, header, header_bytes) != 0 ||
            std::memcmp(message + header_bytes, row + header_bytes, body) != 0) {
            return run_.fail();
        }
        if (phase != Phase::measured || slot.phase != Phase::measured) return;
        round_trips_.record(static_cast<std::uint64_t>(std::chrono::nanoseconds(now - slot.at).count()));
    }

    Run& run_;
    const std::uint32_t id_;
    std::vector<Slot> slots_;
    std::size_t next_sent_ = 0;
    std::size_t next_received_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    std::vector<std::uint8_t> output_;
    Histogram round_trips_;
    // Read by the main thread at both ends of the measured phase.
    alignas(64) std::atomic<std::uint64_t> messages_{0};
};

}  // namespace rivals
