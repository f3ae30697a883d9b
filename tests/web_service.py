"""A web service on loopback that keeps what it is sent."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Seen = list[tuple[str, str, dict[str, str], bytes]]


@contextmanager
def server(answer: bytes = b"", status: int = 200) -> Iterator[tuple[str, Seen]]:
    """Serve on loopback, and give the URL and what was sent: method, path, headers and body."""
    seen: Seen = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            seen.append((self.command, self.path, headers, body))
            self.send_response(status)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_POST = do_PUT = answer  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_address[1]}", seen
        finally:
            listening.shutdown()
            thread.join()
