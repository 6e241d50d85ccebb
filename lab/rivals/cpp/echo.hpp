// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What both styles share: the sockets of a run and the clock that cuts it into phases.
#pragma once

#include "traffic.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace rivals {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// One thread needs no strand; several do, one for each socket.
using Bare = asio::io_context::executor_type;
using Strand = asio::strand<Bare>;

// The executor is named in the socket's type: the type-erased default costs an allocation and a
// virtual call on every operation.
template <class Executor>
using Socket = asio::basic_stream_socket<tcp, Executor>;

template <class Executor>
Executor executor_of(asio::io_context& context) {
    if constexpr (std::is_same_v<Executor, Strand>) return asio::make_strand(context);
    else return context.get_executor();
}

template <class Executor>
struct Ends {
    Socket<Executor> client;
    Socket<Executor> server;
};

// A listener on an ephemeral loopback port, connected and accepted before the clock starts.
template <class Executor>
Ends<Executor> connect(asio::io_context& context, asio::basic_socket_acceptor<tcp, Bare>& listener) {
    Ends<Executor> ends{Socket<Executor>(executor_of<Executor>(context)),
                        Socket<Executor>(executor_of<Executor>(context))};
    ends.client.connect(listener.local_endpoint());
    listener.accept(ends.server);
    ends.client.set_option(tcp::no_delay(true));
    ends.server.set_option(tcp::no_delay(true));
    return ends;
}

inline asio::basic_socket_acceptor<tcp, Bare> listen(asio::io_context& context) {
    const tcp::endpoint loopback(asio::ip::address_v4::loopback(), 0);
    return asio::basic_socket_acceptor<tcp, Bare>(context.get_executor(), loopback);
}

// Runs the context on the load's threads, moves the phases on, prints the sample; the exit status.
int drive(asio::io_context& context, Run& run, const std::vector<const Client*>& clients);

int run_callback(Run& run);
int run_coroutine(Run& run);

}  // namespace rivals
