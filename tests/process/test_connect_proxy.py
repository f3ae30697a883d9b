"""A proxy for hook processes: real sockets on loopback, real clients, and clients that cheat."""

import base64
import http.server
import os
import shutil
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import pytest

from hookline.process.connect_proxy import ConnectProxy, HostPattern, ProxyLimits, parse_host
from tests.waiting import PATIENCE

MEGABYTE: Final = 1024 * 1024


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """Answer connections on loopback, each in a thread; give the port."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            answer(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def echo(connection: socket.socket) -> None:
    """Send back what comes, as it comes."""
    while chunk := connection.recv(65536):
        connection.sendall(chunk)


@contextmanager
def proxying(*hosts: str, limits: ProxyLimits | None = None) -> Iterator[ConnectProxy]:
    with closing(ConnectProxy([parse_host(host) for host in hosts], limits=limits)) as proxy:
        yield proxy


def credentials(proxy: ConnectProxy) -> str:
    """Give the header as a client makes it of the variable."""
    user = proxy.variables()["HTTPS_PROXY"].removeprefix("http://").partition("@")[0]
    return f"Proxy-Authorization: Basic {base64.b64encode(user.encode()).decode()}\r\n"


def dial(proxy: ConnectProxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=PATIENCE)


def read_head(connection: socket.socket) -> bytes:
    raw = b""
    while not raw.endswith(b"\r\n\r\n") and (byte := connection.recv(1)):
        raw += byte
    return raw


def read_all(connection: socket.socket) -> bytes:
    raw = b""
    while chunk := connection.recv(65536):
        raw += chunk
    return raw


def ask(proxy: ConnectProxy, place: str, *, head: str | None = None) -> tuple[int, str]:
    """Ask for a tunnel that is refused; give the status and the text."""
    with dial(proxy) as connection:
        connection.sendall(f"CONNECT {place} HTTP/1.1\r\n{credentials(proxy) if head is None else head}\r\n".encode())
        raw = read_all(connection)
    start, _, text = raw.decode().partition("\r\n\r\n")
    return int(start.split(" ")[1]), text


@contextmanager
def tunnel(proxy: ConnectProxy, place: str) -> Iterator[socket.socket]:
    with dial(proxy) as connection:
        connection.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{credentials(proxy)}\r\n".encode())
        assert read_head(connection) == b"HTTP/1.1 200 Connection established\r\n\r\n"
        yield connection


@pytest.mark.parametrize(
    ("text", "pattern", "shown"),
    [
        ("api.example.com:443", HostPattern("api.example.com"), "api.example.com:443"),
        ("API.Example.com.", HostPattern("api.example.com"), "api.example.com:443"),
        ("*.example.com:8443", HostPattern("example.com", 8443, is_wildcard=True), "*.example.com:8443"),
        ("[::1]:8443", HostPattern("::1", 8443), "[::1]:8443"),
        ("[0:0:0:0:0:0:0:1]", HostPattern("::1"), "[::1]:443"),
        ("[::ffff:127.0.0.1]:80", HostPattern("127.0.0.1", 80), "127.0.0.1:80"),
        ("127.0.0.1:8080", HostPattern("127.0.0.1", 8080), "127.0.0.1:8080"),
        ("localhost:1", HostPattern("localhost", 1), "localhost:1"),
        ("bücher.example", HostPattern("xn--bcher-kva.example"), "xn--bcher-kva.example:443"),
    ],
)
def test_host_is_read_as_it_is_written(text: str, pattern: HostPattern, shown: str) -> None:
    assert parse_host(text) == pattern
    assert str(pattern) == shown
    assert parse_host(shown) == pattern


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds blanks or nothing"),
        (" ", "holds blanks or nothing"),
        ("api.example.com :443", "holds blanks or nothing"),
        ("api.example.com\n", "holds blanks or nothing"),
        ("a\u200bb.example.com", "holds blanks or nothing"),
        ("https://api.example.com", '"https://api.example.com" is a URL: write host:port'),
        ("https://api.example.com:443/x", "is a URL"),
        ("api.example.com/x", "names no host"),
        ("user@example.com", "names no host"),
        ("*", "names no host"),
        ("*.", "holds blanks or nothing"),
        ("*.com", "is too wide"),
        ("*.10.0.0.1", "is too wide"),
        ("a.*.example.com", "names no host"),
        ("**.example.com", "names no host"),
        ("-a.example.com", "names no host"),
        ("a..example.com", "names no host"),
        (".example.com", "names no host"),
        ("example.com..", "names no host"),
        ("a" * 64 + ".example.com", "names no host"),
        ("a." * 140 + "example.com", "names no host"),
        ("127.1", "names no host"),
        ("0x7f.0x1", "names no host"),
        ("2130706433", "names no host"),
        ("127.0.0.1.:80", "names no host"),
        ("::1", "write an IPv6 address in brackets"),
        ("[127.0.0.1]:80", "no IPv6 address in its brackets"),
        ("[fe80::1%eth0]:80", "no IPv6 address in its brackets"),
        ("[::1", "write an IPv6 address in brackets"),
        ("a.example.com:", 'the port is "", wanted a number from 1 to 65535'),
        ("a.example.com:0", "wanted a number from 1 to 65535"),
        ("a.example.com:65536", "wanted a number from 1 to 65535"),
        ("a.example.com:-1", "wanted a number from 1 to 65535"),
        ("a.example.com:\u0664\u0664\u0663", "wanted a number from 1 to 65535"),
        ("a.example.com:https", "wanted a number from 1 to 65535"),
        ("a.example.com:" + "9" * 5000, "wanted a number from 1 to 65535"),
    ],
)
def test_nonsense_is_refused_with_what_to_write(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_host(text)
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("a.example.com", True),
        ("a.b.example.com", True),
        ("example.com", False),
        ("badexample.com", False),
        ("a.example.com.evil.org", False),
    ],
)
def test_wildcard_is_for_subdomains_only(host: str, *, expected: bool) -> None:
    pattern = parse_host("*.example.com")

    assert pattern.matches(host, 443) is expected
    assert not pattern.matches(host, 444)


def test_megabyte_goes_both_ways_unchanged() -> None:
    sent = os.urandom(MEGABYTE)
    with serving(echo) as port, proxying(f"127.0.0.1:{port}") as proxy, tunnel(proxy, f"127.0.0.1:{port}") as client:
        sender = threading.Thread(target=client.sendall, args=(sent,))
        sender.start()
        got = b""
        while len(got) < MEGABYTE:
            chunk = client.recv(65536)
            assert chunk
            got += chunk
        sender.join()

    assert got == sent
    assert proxy.refused == ()


def test_client_that_has_said_its_last_still_gets_the_answer() -> None:
    def count(connection: socket.socket) -> None:
        connection.sendall(str(len(read_all(connection))).encode())

    with serving(count) as port, proxying(f"localhost:{port}") as proxy, tunnel(proxy, f"LOCALHOST.:{port}") as client:
        client.sendall(b"x" * MEGABYTE)
        client.shutdown(socket.SHUT_WR)
        assert read_all(client) == str(MEGABYTE).encode()


def test_server_that_has_said_its_last_still_gets_what_the_client_says() -> None:
    got: list[bytes] = []
    done = threading.Event()

    def greet(connection: socket.socket) -> None:
        connection.sendall(b"hello")
        connection.shutdown(socket.SHUT_WR)
        got.append(read_all(connection))
        done.set()

    with serving(greet) as port, proxying(f"127.0.0.1:{port}") as proxy:
        with tunnel(proxy, f"127.0.0.1:{port}") as client:
            assert read_all(client) == b"hello"
            client.sendall(b"bye")
        assert done.wait(PATIENCE)

    assert got == [b"bye"]


def test_what_is_sent_before_the_answer_goes_into_the_tunnel() -> None:
    with serving(echo) as port, proxying(f"127.0.0.1:{port}") as proxy, dial(proxy) as client:
        # a second request is data for the host that was granted, and never another tunnel
        second = b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n"
        client.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n{credentials(proxy)}\r\n".encode() + second)
        client.shutdown(socket.SHUT_WR)
        assert read_all(client) == b"HTTP/1.1 200 Connection established\r\n\r\n" + second

    assert proxy.refused == ()


def test_refused_host_and_port_are_named_with_the_key_that_allows_them() -> None:
    with serving(echo) as port, serving(echo) as other, proxying(f"127.0.0.1:{port}") as proxy:
        assert ask(proxy, "Evil.Example:443") == (
            403,
            "hookline: sandbox.net of this hook does not name evil.example:443; add it there to allow it\n",
        )
        assert ask(proxy, f"127.0.0.1:{other}")[0] == 403
        assert ask(proxy, f"localhost:{port}")[0] == 403
        assert ask(proxy, "evil.example:443")[0] == 403
        assert proxy.refused == ("evil.example:443", f"127.0.0.1:{other}", f"localhost:{port}")


def test_list_of_refused_hosts_is_bounded() -> None:
    with proxying(limits=ProxyLimits(refused_hosts=3)) as proxy:
        for number in range(5):
            ask(proxy, f"h{number}.example:443")

        assert proxy.refused == ("h0.example:443", "h1.example:443", "h2.example:443")


@pytest.mark.parametrize(
    "head",
    [
        "",
        "Proxy-Authorization: Basic aG9va2xpbmU6d3Jvbmc=\r\n",
        "Proxy-Authorization: Basic\r\n",
        "Proxy-Authorization: Basic ???\r\n",
        "Authorization: TOKEN",
        "TWICE",
        "BEARER",
    ],
)
def test_client_without_the_password_gets_nowhere_and_leaves_no_trace(head: str) -> None:
    with serving(echo) as port, proxying(f"127.0.0.1:{port}") as proxy:
        right = credentials(proxy)
        made = {
            "TWICE": right + right,
            "BEARER": right.replace("Basic", "Bearer"),
            "Authorization: TOKEN": right.replace("Proxy-", ""),
        }.get(head, head)
        for place in (f"127.0.0.1:{port}", "evil.example:443"):
            status, text = ask(proxy, place, head=made)
            assert (status, text) == (407, "hookline: the password of this proxy is missing or wrong\n")
        assert proxy.refused == ()


def test_password_is_another_one_for_each_proxy() -> None:
    with proxying() as one, proxying() as two:
        assert credentials(one) != credentials(two)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET http://plain.example/x HTTP/1.1\r\n%b\r\n", 405),
        (b"GET / HTTP/1.1\r\n%b\r\n", 405),
        (b"connect ALLOWED HTTP/1.1\r\n%b\r\n", 405),
        (b"CONNECT ALLOWED HTTP/1.1\r\n%bContent-Length: 5\r\n\r\nhello", 400),
        (b"CONNECT ALLOWED HTTP/1.1\r\n%bTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"CONNECT ALLOWED HTTP/1.1\r\n%bX: a\r\n b\r\n\r\n", 400),
        (b"CONNECT ALLOWED HTTP/1.1\r\n%bX : a\r\n\r\n", 400),
        (b"CONNECT ALLOWED HTTP/1.1\r\n%bX: a\nCONNECT evil.example:443 HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT ALLOWED HTTP/1.1\r\n%bX: a\rb\r\n\r\n", 400),
        (b"CONNECT ALLOWED HTTP/1.1\r\n%bX: a\0b\r\n\r\n", 400),
        (b"CONNECT ALLOWED evil.example:443 HTTP/1.1\r\n%b\r\n", 400),
        (b"CONNECT ALLOWED\tHTTP/1.1\r\n%b\r\n", 400),
        (b"CONNECT  ALLOWED HTTP/1.1\r\n%b\r\n", 400),
        (b"CONNECT ALLOWED HTTP/2.0\r\n%b\r\n", 400),
        (b"CONNECT ALLOWED\r\n%b\r\n", 400),
        (b"\r\nCONNECT ALLOWED HTTP/1.1\r\n%b\r\n", 400),
        (b"CONNECT http://ALLOWED HTTP/1.1\r\n%b\r\n", 400),
        (b"CONNECT evil.example@ALLOWED HTTP/1.1\r\n%b\r\n", 400),
        (b"CONNECT ALLOWED/ HTTP/1.1\r\n%b\r\n", 400),
        (b"CONNECT ALLOWED#.evil.example:443 HTTP/1.1\r\n%b\r\n", 400),
        (b"CONNECT ALLOWED%%00.evil.example:443 HTTP/1.1\r\n%b\r\n", 400),
        (b"CONNECT 127.0.0.1 HTTP/1.1\r\n%b\r\n", 400),
        (b"CONNECT *.example.com:443 HTTP/1.1\r\n%b\r\n", 400),
        (b"CONNECT 2130706433:443 HTTP/1.1\r\n%b\r\n", 400),
        (b"CONNECT \xff\xfe:443 HTTP/1.1\r\n%b\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"CONNECT ALLOWED HTTP/1.1\r\n%bX: " + b"a" * 9000 + b"\r\n\r\n", 431),
    ],
)
def test_request_that_is_not_a_plain_connect_is_refused(request_bytes: bytes, status: int) -> None:
    reached = threading.Event()

    def note(_connection: socket.socket) -> None:
        reached.set()

    with serving(note) as port, proxying(f"127.0.0.1:{port}") as proxy, dial(proxy) as client:
        raw = request_bytes.replace(b"ALLOWED", b"127.0.0.1:%d" % port)
        client.sendall(raw % credentials(proxy).encode() if b"%b" in raw else raw)
        answer = read_all(client)

    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert answer.count(b"HTTP/1.1") == 1
    assert b"\r\nConnection: close\r\n" in answer
    assert not reached.is_set()


def test_plain_http_is_refused_and_its_host_is_kept() -> None:
    with proxying() as proxy, dial(proxy) as client:
        client.sendall(f"GET http://plain.example/x HTTP/1.1\r\n{credentials(proxy)}\r\n".encode())
        assert b"only CONNECT is carried" in read_all(client)

    assert proxy.refused == ("plain.example",)


def test_slow_head_is_cut_off() -> None:
    with proxying(limits=ProxyLimits(head_time=0.2)) as proxy, dial(proxy) as client:
        client.sendall(b"CONNECT a.exa")
        assert read_all(client).startswith(b"HTTP/1.1 408 ")


def test_tunnel_in_which_nothing_moves_is_closed() -> None:
    with (
        serving(echo) as port,
        proxying(f"127.0.0.1:{port}", limits=ProxyLimits(idle_time=0.3)) as proxy,
        tunnel(proxy, f"127.0.0.1:{port}") as client,
    ):
        try:
            rest = client.recv(1)
        except ConnectionResetError:
            rest = b""

    assert rest == b""


def test_one_connection_too_many_is_told_so() -> None:
    with serving(echo) as port, proxying(f"127.0.0.1:{port}", limits=ProxyLimits(connections=2)) as proxy:
        place = f"127.0.0.1:{port}"
        with tunnel(proxy, place), tunnel(proxy, place):
            assert ask(proxy, place)[0] == 503


def test_host_that_cannot_be_reached_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with proxying(f"127.0.0.1:{port}", "nowhere.invalid:443") as proxy:
        status, text = ask(proxy, f"127.0.0.1:{port}")
        assert status == 502
        assert f"127.0.0.1:{port} cannot be reached" in text

        status, text = ask(proxy, "nowhere.invalid:443")
        assert status == 502
        assert "nowhere.invalid:443 cannot be reached" in text
        assert proxy.refused == ()


def test_name_that_leads_to_this_machine_needs_the_address_in_the_list() -> None:
    try:
        name = parse_host(socket.gethostname()).host
        address = socket.gethostbyname(name)
    except (OSError, ValueError):
        pytest.skip("the name of this machine has no address")
    if not address.startswith("127.") or "localhost" in name:
        pytest.skip("the name of this machine does not lead to loopback")
    with serving(echo) as port, proxying(f"{name}:{port}") as proxy:
        status, text = ask(proxy, f"{name}:{port}")
        assert status == 403
        assert f"does not name {address}:{port}, which is what" in text


def test_close_ends_the_thread_and_every_tunnel() -> None:
    with serving(echo) as port, proxying(f"127.0.0.1:{port}") as proxy, tunnel(proxy, f"127.0.0.1:{port}") as client:
        proxy.close()
        proxy.close()
        try:
            rest = client.recv(1)
        except ConnectionResetError:
            rest = b""

        assert rest == b""
        with pytest.raises(ConnectionRefusedError):
            dial(proxy)


def test_one_proxy_serves_a_set_of_hosts_and_is_replaced_after_it_was_closed() -> None:
    first = ConnectProxy.for_hosts(("a.example", "b.example:443"))
    with closing(first):
        found: list[ConnectProxy] = []
        threads = [
            threading.Thread(target=lambda: found.append(ConnectProxy.for_hosts(("B.example.", "a.example:443"))))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(one is first for one in found)
        assert len(found) == 8
        with closing(ConnectProxy.for_hosts(("a.example",))) as other:
            assert other is not first
    with closing(ConnectProxy.for_hosts(("a.example", "b.example"))) as again:
        assert again is not first

    with pytest.raises(ValueError, match="is a URL"):
        ConnectProxy.for_hosts(("https://a.example",))


FORK: Final = """\
import os, socket, sys
from hookline.process.connect_proxy import ConnectProxy
host = "127.0.0.1:" + sys.argv[1]
proxy = ConnectProxy.for_hosts((host,))
assert ConnectProxy.for_hosts((host,)) is proxy

def ask(one):
    import base64
    user = one.variables()["HTTPS_PROXY"].removeprefix("http://").partition("@")[0]
    client = socket.create_connection(("127.0.0.1", one.port), timeout=20)
    head = f"CONNECT {host} HTTP/1.1\\r\\nProxy-Authorization: Basic {base64.b64encode(user.encode()).decode()}\\r\\n\\r\\n"
    client.sendall(head.encode())
    assert client.recv(4096).startswith(b"HTTP/1.1 200 "), "no tunnel"
    return client

held = ask(proxy)
# the child waits on a pipe of its own: on standard input it could take the parent's line
ended, holding = os.pipe()
child = os.fork()
if child == 0:
    os.close(holding)
    held.close()
    own = ConnectProxy.for_hosts((host,))
    assert own is not proxy and own.port != proxy.port
    ask(own).close()
    proxy.close()
    grandchild = os.fork()
    if grandchild == 0:
        ask(ConnectProxy.for_hosts((host,)))
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]) == 7
    own.close()
    print("child", flush=True)
    # stays while the parent closes: it must not hold the parent's connections open
    os.read(ended, 1)
    os._exit(0)
input()
held.sendall(b"still there")
assert held.recv(100) == b"still there"
port = proxy.port
proxy.close()
try:
    assert held.recv(1) == b""
except ConnectionResetError:
    pass
try:
    socket.create_connection(("127.0.0.1", port), timeout=20)
except ConnectionRefusedError:
    print("parent", flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_child_gets_a_proxy_of_its_own_and_holds_nothing_of_the_parent() -> None:
    with serving(echo) as port:
        program = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", FORK, str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert program.stdin is not None
        assert program.stdout is not None
        with program:
            try:
                assert program.stdout.readline() == "child\n"
                program.stdin.write("go\n")
                program.stdin.flush()
                assert program.stdout.readline() == "parent\n"
            finally:
                program.stdin.close()
        assert program.returncode == 0


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate for 127.0.0.1, with its key in the same file."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem"),
            *("-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    (folder / "both.pem").write_text((folder / "key.pem").read_text() + (folder / "cert.pem").read_text())
    return folder / "both.pem"


@pytest.fixture
def site(certificate: Path) -> Iterator[int]:
    """Serve one page over TLS."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_list = "/info/refs" in self.path
            page = b"%b\trefs/heads/main\n" % (b"1" * 40) if is_list else b"page of " + self.path.encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_words: object) -> None:
            """Keep quiet."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def run(words: list[str], proxy: ConnectProxy, **env: str) -> subprocess.CompletedProcess[str]:
    if shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]} here")
    inherited = {**os.environ, "NO_PROXY": "*", "no_proxy": "127.0.0.1,localhost"}
    return subprocess.run(
        words,
        env={**inherited, **proxy.variables(), **env},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_curl_reaches_a_named_host_and_no_other(site: int, certificate: Path) -> None:
    curl = ["curl", "-sS", "--cacert", str(certificate)]
    with proxying(f"127.0.0.1:{site}") as proxy:
        done = run([*curl, f"https://127.0.0.1:{site}/x"], proxy)
        assert (done.returncode, done.stdout) == (0, "page of /x"), done.stderr

        done = run([*curl, f"https://localhost:{site}/x"], proxy)
        assert done.returncode == 56
        assert "403" in done.stderr

        done = run([*curl, "http://plain.example/"], proxy)
        assert "only CONNECT is carried" in done.stdout

    assert proxy.refused == (f"localhost:{site}", "plain.example")


def test_git_reaches_a_named_host(site: int, certificate: Path) -> None:
    git = ["git", "ls-remote", f"https://127.0.0.1:{site}/repo.git"]
    with proxying(f"127.0.0.1:{site}") as proxy:
        done = run(git, proxy, GIT_SSL_CAINFO=str(certificate), GIT_TERMINAL_PROMPT="0")
        assert "refs/heads/main" in done.stdout, done.stderr
    with proxying() as proxy:
        assert "403" in run(git, proxy, GIT_SSL_CAINFO=str(certificate), GIT_TERMINAL_PROMPT="0").stderr


PYTHON: Final = """\
import ssl, sys, urllib.request
context = ssl.create_default_context(cafile=sys.argv[2])
print(urllib.request.urlopen(sys.argv[1], context=context, timeout=20).read().decode())
"""


def test_python_reaches_a_named_host_and_says_what_was_refused(site: int, certificate: Path) -> None:
    words = [sys.executable, "-c", PYTHON, f"https://127.0.0.1:{site}/x", str(certificate)]
    with proxying(f"127.0.0.1:{site}") as proxy:
        done = run(words, proxy)
        assert done.stdout == "page of /x\n", done.stderr
    with proxying() as proxy:
        assert f"sandbox.net of this hook does not name 127.0.0.1:{site}" in run(words, proxy).stderr
