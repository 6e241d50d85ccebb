// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The clock of a run: warm-up, measured phase, drain. Messages and CPU are read at the same two
// moments, so that they cover the same interval.
#include "echo.hpp"

#include <sys/resource.h>

#include <cinttypes>
#include <cstdio>
#include <thread>

namespace rivals {
namespace {

struct Stamp {
    Clock::time_point at;
    std::uint64_t messages = 0;
    double user = 0;
    double system = 0;
};

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

Stamp stamp(const std::vector<const Client*>& clients) {
    Stamp now;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    now.at = Clock::now();
    for (const auto* client : clients) now.messages += client->messages();
    now.user = seconds(usage.ru_utime);
    now.system = seconds(usage.ru_stime);
    return now;
}

double microseconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000.0; }

int print(const Run& run, const std::vector<const Client*>& clients, const Stamp& begin, const Stamp& end) {
    Histogram round_trips;
    for (const auto* client : clients) round_trips.add(client->round_trips());
    const std::uint64_t errors = run.errors.load();
    const std::uint64_t messages = end.messages - begin.messages;
    std::printf("{\"messages\":%" PRIu64 ",\"elapsed_seconds\":%.9f,\"cpu_user_seconds\":%.6f,"
                "\"cpu_system_seconds\":%.6f,\"rtt_p50_us\":%.3f,\"rtt_p99_us\":%.3f,\"errors\":%" PRIu64 "}\n",
                messages, std::chrono::duration<double>(end.at - begin.at).count(), end.user - begin.user,
                end.system - begin.system, microseconds(round_trips.quantile(0.5)),
                microseconds(round_trips.quantile(0.99)), errors);
    return errors == 0 && messages > 0 ? 0 : 1;
}

}  // namespace

int drive(asio::io_context& context, Run& run, const std::vector<const Client*>& clients) {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < run.load.threads; ++i) {
        threads.emplace_back([&context] { context.run(); });
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(run.load.warmup));
    run.phase = Phase::measured;
    const Stamp begin = stamp(clients);
    std::this_thread::sleep_for(std::chrono::duration<double>(run.load.seconds));
    const Stamp end = stamp(clients);
    run.phase = Phase::stopping;
    // Every client stops at its next reply, closes, and so ends its server: the context runs dry.
    threads.clear();
    return print(run, clients, begin, end);
}

}  // namespace rivals
