// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The echo in C++20 coroutines: one for each end of a connection, errors as values.
#include "echo.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace rivals {
namespace {

// Errors come back beside the size: an exception on the way out would be measured too.
template <class Executor>
constexpr auto awaited = asio::as_tuple(asio::use_awaitable_t<Executor>{});

template <class Executor>
asio::awaitable<void, Executor> serve(Run& run, Socket<Executor> socket) {
    Server server(run);
    Input input(run.load.payload);
    for (;;) {
        const auto [error, n] = co_await socket.async_read_some(
            asio::buffer(input.room(), input.room_size()), awaited<Executor>);
        if (error) {
            if (error != asio::error::eof) run.fail();
            co_return;
        }
        input.received(n);
        const std::size_t whole = server.turn(input.data(), input.size());
        if (whole == 0) continue;
        const auto [failed, sent] = co_await asio::async_write(
            socket, asio::buffer(input.data(), whole), awaited<Executor>);
        if (failed) {
            run.fail();
            co_return;
        }
        input.consume(sent);
    }
}

template <class Executor>
asio::awaitable<void, Executor> request(Run& run, Client& client, Socket<Executor> socket) {
    Input input(run.load.payload);
    client.begin();
    while (!client.finished()) {
        if (!client.output().empty()) {
            const auto [failed, sent] = co_await asio::async_write(
                socket, asio::buffer(client.output()), awaited<Executor>);
            if (failed) {
                run.fail();
                co_return;
            }
            client.output().clear();
        }
        const auto [error, n] = co_await socket.async_read_some(
            asio::buffer(input.room(), input.room_size()), awaited<Executor>);
        if (error) {
            run.fail();
            co_return;
        }
        input.received(n);
        input.consume(client.turn(input.data(), input.size()));
    }
}

template <class Executor>
int run_on(Run& run) {
    asio::io_context context(static_cast<int>(run.load.threads));
    std::vector<std::unique_ptr<Client>> clients;
    std::vector<const Client*> counted;
    auto listener = listen(context);
    for (std::size_t i = 0; i < run.load.clients; ++i) {
        auto ends = connect<Executor>(context, listener);
        clients.push_back(std::make_unique<Client>(run, static_cast<std::uint32_t>(i)));
        counted.push_back(clients.back().get());
        const Executor server = ends.server.get_executor();
        const Executor client = ends.client.get_executor();
        asio::co_spawn(server, serve<Executor>(run, std::move(ends.server)), asio::detached);
        asio::co_spawn(client, request<Executor>(run, *clients.back(), std::move(ends.client)),
                       asio::detached);
    }
    listener.close();
    return drive(context, run, counted);
}

}  // namespace

int run_coroutine(Run& run) { return run.load.threads == 1 ? run_on<Bare>(run) : run_on<Strand>(run); }

}  // namespace rivals
