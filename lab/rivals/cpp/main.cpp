// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One run on Boost.Asio: one JSON object on standard output, exit 0 only when nothing went wrong.
#include "echo.hpp"

#include <charconv>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

template <class Number>
Number number(std::string_view flag, std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
        throw std::runtime_error(std::string(flag) + ": not a number: " + std::string(text));
    }
    return value;
}

struct Wanted {
    std::string_view style = "callback";
    rivals::Load load;
};

Wanted parse(int count, char** arguments) {
    Wanted wanted;
    for (int i = 1; i < count; i += 2) {
        const std::string_view flag = arguments[i];
        if (i + 1 == count) throw std::runtime_error(std::string(flag) + ": a value is missing");
        const std::string_view text = arguments[i + 1];
        if (flag == "--style") wanted.style = text;
        else if (flag == "--payload") wanted.load.payload = number<std::size_t>(flag, text);
        else if (flag == "--clients") wanted.load.clients = number<std::size_t>(flag, text);
        else if (flag == "--window") wanted.load.window = number<std::size_t>(flag, text);
        else if (flag == "--threads") wanted.load.threads = number<std::size_t>(flag, text);
        else if (flag == "--warmup") wanted.load.warmup = number<double>(flag, text);
        else if (flag == "--seconds") wanted.load.seconds = number<double>(flag, text);
        else throw std::runtime_error("unknown flag: " + std::string(flag));
    }
    const auto& load = wanted.load;
    if (load.payload < rivals::header_bytes || load.clients == 0 || load.window == 0 || load.threads == 0) {
        throw std::runtime_error("payload must be at least 16, clients, window and threads at least 1");
    }
    if (load.payload * load.window > rivals::read_room) {
        throw std::runtime_error("payload times window must fit one read of 65536 bytes");
    }
    return wanted;
}

}  // namespace

int main(int count, char** arguments) {
    try {
        const Wanted wanted = parse(count, arguments);
        rivals::Run run(wanted.load);
        if (wanted.style == "callback") return rivals::run_callback(run);
        if (wanted.style == "coroutine") return rivals::run_coroutine(run);
        throw std::runtime_error("unknown style: " + std::string(wanted.style));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "asio echo: %s\n", error.what());
        return 1;
    }
}
