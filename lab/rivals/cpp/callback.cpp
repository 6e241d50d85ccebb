// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The echo in callbacks: every completion starts the next operation, buffers are kept.
#include "echo.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

namespace rivals {
namespace {

template <class Executor>
class ServerEnd {
public:
    ServerEnd(Run& run, Socket<Executor> socket)
        : run_(run), server_(run), socket_(std::move(socket)), input_(run.load.payload) {}

    void start() { read(); }

private:
    void read() {
        socket_.async_read_some(asio::buffer(input_.room(), input_.room_size()),
                                [this](error_code error, std::size_t n) { on_read(error, n); });
    }

    void on_read(error_code error, std::size_t n) {
        if (error) {
            if (error != asio::error::eof) run_.fail();
            socket_.close(error);
            return;
        }
        input_.received(n);
        const std::size_t whole = server_.turn(input_.data(), input_.size());
        if (whole == 0) return read();
        asio::async_write(socket_, asio::buffer(input_.data(), whole),
                          [this](error_code failed, std::size_t sent) { on_write(failed, sent); });
    }

    void on_write(error_code error, std::size_t n) {
        if (error) {
            run_.fail();
            socket_.close(error);
            return;
        }
        input_.consume(n);
        read();
    }

    Run& run_;
    Server server_;
    Socket<Executor> socket_;
    Input input_;
};

template <class Executor>
class ClientEnd {
public:
    ClientEnd(Run& run, std::uint32_t id, Socket<Executor> socket)
        : run_(run), client_(run, id), socket_(std::move(socket)), input_(run.load.payload) {}

    void start() {
        client_.begin();
        write();
    }

    const Client& client() const { return client_; }

private:
    void write() {
        asio::async_write(socket_, asio::buffer(client_.output()),
                          [this](error_code error, std::size_t) { on_write(error); });
    }

    void on_write(error_code error) {
        if (error) return fail();
        client_.output().clear();
        read();
    }

    void read() {
        socket_.async_read_some(asio::buffer(input_.room(), input_.room_size()),
                                [this](error_code error, std::size_t n) { on_read(error, n); });
    }

    void on_read(error_code error, std::size_t n) {
        if (error) return fail();
        input_.received(n);
        input_.consume(client_.turn(input_.data(), input_.size()));
        if (!client_.output().empty()) return write();
        if (!client_.finished()) return read();
        error_code ignored;
        socket_.close(ignored);
    }

    void fail() {
        run_.fail();
        error_code ignored;
        socket_.close(ignored);
    }

    Run& run_;
    Client client_;
    Socket<Executor> socket_;
    Input input_;
};

template <class Executor>
int run_on(Run& run) {
    asio::io_context context(static_cast<int>(run.load.threads));
    std::vector<std::unique_ptr<ServerEnd<Executor>>> servers;
    std::vector<std::unique_ptr<ClientEnd<Executor>>> clients;
    std::vector<const Client*> counted;
    auto listener = listen(context);
    for (std::size_t i = 0; i < run.load.clients; ++i) {
        auto ends = connect<Executor>(context, listener);
        servers.push_back(std::make_unique<ServerEnd<Executor>>(run, std::move(ends.server)));
        clients.push_back(std::make_unique<ClientEnd<Executor>>(
            run, static_cast<std::uint32_t>(i), std::move(ends.client)));
        counted.push_back(&clients.back()->client());
    }
    listener.close();
    for (auto& server : servers) server->start();
    for (auto& client : clients) client->start();
    return drive(context, run, counted);
}

}  // namespace

int run_callback(Run& run) { return run.load.threads == 1 ? run_on<Bare>(run) : run_on<Strand>(run); }

}  // namespace rivals
