#!/usr/bin/env python3
"""An independent TCP and TLS peer for arknet's tests: Python's standard library only.

As a server it echoes, as a client it sends and checks the echo.

    tcp_peer.py serve   [--port 0] [options]     prints its port as the first line
    tcp_peer.py connect --port N   [options]     prints "ok messages=N bytes=N" at the end

Framing: `raw` echoes bytes as they come; `length` speaks arknet's LengthPrefix: one byte for
0 to 253, 254 and a u16 in little-endian order up to 65,535, 255 and a u64 above. A prefix that is
not the shortest, or a message above --limit, is an error.

Every run ends by itself after --max-seconds. Only loopback addresses are used.

Exit status: 0 done, 1 the other side misbehaved or the connection failed, 2 usage, 3 out of time.
"""

import argparse
import ipaddress
import os
import random
import select
import socket
import ssl
import struct
import sys
import threading

READ_BYTES = 64 * 1024
# A test has a few connections; a bug that opens more must not fill the machine with threads.
MAX_CONNECTIONS = 64


class Misbehaved(Exception):
    """The other side broke the protocol."""


def encode(payload):
    """A message with its prefix."""
    size = len(payload)
    if size <= 253:
        return bytes([size]) + payload
    if size <= 0xFFFF:
        return b"\xfe" + struct.pack("<H", size) + payload
    return b"\xff" + struct.pack("<Q", size) + payload


def read_exact(stream, size, what):
    """`size` bytes of `stream`, or None at an end before the first of them."""
    chunks, missing = [], size
    while missing:
        chunk = stream.recv(min(missing, READ_BYTES))
        if not chunk:
            if missing == size:
                return None
            raise Misbehaved(f"stream ended inside {what}, {missing} of {size} bytes missing")
        chunks.append(chunk)
        missing -= len(chunk)
    return b"".join(chunks)


def read_message(stream, limit):
    """The next message, or None at the end of the stream."""
    marker = read_exact(stream, 1, "a prefix")
    if marker is None:
        return None
    size = marker[0]
    if size >= 254:
        width, least = (2, 254) if size == 254 else (8, 0x10000)
        rest = read_exact(stream, width, "a prefix")
        if rest is None:
            raise Misbehaved("stream ended inside a prefix")
        size = int.from_bytes(rest, "little")
        if size < least:
            raise Misbehaved(f"prefix of {width + 1} bytes for a message of {size} bytes")
    if size > limit:
        raise Misbehaved(f"message of {size} bytes is above the limit of {limit}")
    if size == 0:
        return b""
    payload = read_exact(stream, size, "a message")
    if payload is None:
        raise Misbehaved(f"stream ended before a message of {size} bytes")
    return payload


def say(text):
    """A line for whoever waits for it."""
    print(text, flush=True)


def note(text):
    """A line for people."""
    print(text, file=sys.stderr, flush=True)


def describe(stream):
    """What TLS negotiated; nothing without TLS."""
    if isinstance(stream, ssl.SSLSocket):
        subject = dict(pair[0] for pair in (stream.getpeercert() or {}).get("subject", ()))
        note(
            f"tls version={stream.version()} cipher={stream.cipher()[0]}"
            f" alpn={stream.selected_alpn_protocol()} peer={subject.get('commonName')}"
        )


def finish(stream):
    """Closes in order: with TLS, close_notify is sent and the other side's is required."""
    if isinstance(stream, ssl.SSLSocket):
        stream = stream.unwrap()
    stream.close()


def limit_tls(context, args):
    """Applies what both sides have in common."""
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if args.tls == "1.2":
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    if args.tls == "1.3":
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    if args.alpn:
        context.set_alpn_protocols(args.alpn.split(","))
    return context


def server_context(args):
    """TLS as a server with --cert and --key; --cafile demands client certificates (mTLS)."""
    if not args.cert:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(args.cert, args.key)
    if args.cafile:
        context.load_verify_locations(args.cafile)
        context.verify_mode = ssl.CERT_REQUIRED
    return limit_tls(context, args)


def client_context(args):
    """TLS as a client with --cafile; --cert and --key are shown when the server asks (mTLS)."""
    if not args.cafile:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(args.cafile)
    if args.cert:
        context.load_cert_chain(args.cert, args.key)
    return limit_tls(context, args)


def echo(stream, args):
    """Answers until the other side ends its stream."""
    while True:
        if args.framing == "raw":
            payload = stream.recv(READ_BYTES)
            if not payload:
                return
            stream.sendall(payload)
        else:
            payload = read_message(stream, args.limit)
            if payload is None:
                return
            stream.sendall(encode(payload))


def serve_one(plain, context, args):
    """One connection of the server; says on standard error how it ended. True when in order."""
    try:
        with plain:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream = plain
            if context:
                stream = context.wrap_socket(
                    plain, server_side=True, suppress_ragged_eofs=False
                )
                describe(stream)
            echo(stream, args)
            finish(stream)
        note("connection ended in order")
        return True
    except (OSError, Misbehaved) as error:
        note(f"connection failed: {type(error).__name__}: {error}")
        return False


def serve(args):
    """Serves --connections connections, or until the time is out."""
    context = server_context(args)
    results, threads = [], []
    slots = threading.Semaphore(MAX_CONNECTIONS)

    def work(plain):
        try:
            results.append(serve_one(plain, context, args))
        finally:
            slots.release()

    with socket.create_server((args.host, args.port), family=family(args.host)) as listener:
        say(listener.getsockname()[1])
        served = 0
        while args.connections == 0 or served < args.connections:
            slots.acquire()
            plain, _ = listener.accept()
            thread = threading.Thread(target=work, args=(plain,), daemon=True)
            thread.start()
            threads = [other for other in threads if other.is_alive()] + [thread]
            served += 1
    for thread in threads:
        thread.join()
    say(f"served connections={served} failed={results.count(False)}")
    return 0 if all(results) else 1


def payloads(args):
    """The messages to send, the same for the same --seed."""
    rng = random.Random(args.seed)
    sizes = [int(size) for size in args.sizes.split(",")]
    return [rng.randbytes(sizes[n % len(sizes)]) for n in range(args.messages)]


class Duplex:
    """A stream that goes on sending while it is read, so that no batch is too large."""

    def __init__(self, stream):
        stream.setblocking(False)
        self.stream, self.unsent = stream, memoryview(b"")

    def send(self, data):
        """Takes `data` into its care; what was given before has been answered."""
        self.unsent = memoryview(data)

    def recv(self, size):
        """Up to `size` bytes, none at the end of the stream."""
        while True:
            self._push()
            try:
                return self.stream.recv(size)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                select.select([self.stream], [self.stream] if self.unsent else [], [])

    def _push(self):
        while self.unsent:
            try:
                sent = self.stream.send(self.unsent[:READ_BYTES])
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            self.unsent = self.unsent[sent:]


def check_raw(stream, messages):
    """Reads what all messages are together."""
    wanted = b"".join(messages)
    if wanted and read_exact(stream, len(wanted), "the echo") != wanted:
        raise Misbehaved("the echo differs from what was sent")


def check_messages(stream, messages, limit):
    """Reads each message, whole and in order."""
    for number, wanted in enumerate(messages):
        got = read_message(stream, limit)
        if got != wanted:
            size = "no" if got is None else len(got)
            raise Misbehaved(f"echo {number}: {size} bytes, not the {len(wanted)} that were sent")


def exchange(stream, messages, args):
    """Sends a batch of --window messages, checks its echo, and goes on to the next."""
    duplex = Duplex(stream)
    for start in range(0, len(messages), args.window):
        batch = messages[start : start + args.window]
        if args.framing == "raw":
            duplex.send(b"".join(batch))
            check_raw(duplex, batch)
        else:
            duplex.send(b"".join(map(encode, batch)))
            check_messages(duplex, batch, args.limit)
    stream.settimeout(args.max_seconds)


def connect(args):
    """Sends --messages messages in batches of --window and checks the echo."""
    context = client_context(args)
    messages = payloads(args)
    with socket.create_connection((args.host, args.port), timeout=args.max_seconds) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = plain
        if context:
            name = args.server_name or args.host
            # Without this flag, OpenSSL's wrapper takes a cut for an end.
            stream = context.wrap_socket(plain, server_hostname=name, suppress_ragged_eofs=False)
            describe(stream)
        exchange(stream, messages, args)
        if args.half_close and not context:
            plain.shutdown(socket.SHUT_WR)
            if stream.recv(1):
                raise Misbehaved("the server sent something after the last echo")
        finish(stream)
    total = sum(map(len, messages))
    say(f"ok messages={len(messages)} bytes={total}")
    return 0


def family(host):
    """The address family of a loopback address."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def loopback(text):
    """An argument that must be a loopback address."""
    if not ipaddress.ip_address(text).is_loopback:
        raise argparse.ArgumentTypeError(f"{text} is not a loopback address")
    return text


def positive(text):
    """An argument that must be a number above zero."""
    number = int(text)
    if number <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return number


def arguments():
    """The command line; a wrong one ends the process with status 2."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, work in (("serve", serve), ("connect", connect)):
        command = commands.add_parser(name, description=work.__doc__)
        command.set_defaults(work=work)
        add = command.add_argument
        add("--host", type=loopback, default="127.0.0.1", help="default 127.0.0.1")
        add("--framing", choices=("raw", "length"), default="raw", help="default raw")
        add("--limit", type=positive, default=16 << 20, help="largest message; default 16 MiB")
        add("--max-seconds", type=positive, default=60, help="default 60")
        add("--cert", help="certificate chain, PEM; makes a server speak TLS")
        add("--key", help="private key, PEM")
        add("--cafile", help="authorities, PEM; makes a client speak TLS, a server demand mTLS")
        add("--tls", choices=("1.2", "1.3"), help="the only version allowed; default both")
        add("--alpn", help="protocols, separated by commas")
        if name == "serve":
            add("--port", type=int, default=0, help="default 0: any")
            add("--connections", type=int, default=0, help="end after so many; default 0: never")
        else:
            add("--port", type=positive, required=True)
            add("--server-name", help="name to verify; default the host")
            add("--messages", type=positive, default=100, help="default 100")
            add("--sizes", default="0,1,253,254,65535,65536", help="taken in turn")
            add("--window", type=positive, default=1, help="messages in a batch; default 1")
            add("--seed", type=int, default=1, help="of the contents; default 1")
            add("--half-close", action="store_true", help="end first, then expect the server's end")
    args = parser.parse_args()
    if bool(args.cert) != bool(args.key):
        parser.error("--cert and --key belong together")
    if args.command == "serve" and args.cafile and not args.cert:
        parser.error("--cafile of a server needs --cert")
    return args


def out_of_time(seconds):
    """Ends the process from beside whatever it waits for."""
    note(f"out of time after {seconds} s")
    os._exit(3)


def main():
    """Runs the command under the watch of a timer."""
    args = arguments()
    watch = threading.Timer(args.max_seconds, out_of_time, (args.max_seconds,))
    watch.daemon = True
    watch.start()
    try:
        return args.work(args)
    except (OSError, Misbehaved) as error:
        note(f"{args.command} failed: {type(error).__name__}: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
