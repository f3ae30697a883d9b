"""A model that says what a script says, on loopback: the one thing about the agents under test that is not real.

Which turn of the script comes next is read off the history in each request, so that repeated requests need no
memory. Past the end the last turn is said again, without its tool calls. Requests that offer no tools (titles,
summaries) get a word of no importance.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, Final
from urllib.parse import urlsplit

from tests.agents.speech import MODEL, SPEECHES, Json, Request, Speech, Turn

ASIDE: Final = Turn("ok")


@dataclass(slots=True)
class Conversation:
    """The script, and what the clients sent so far: whole requests, and what their tools answered."""

    turns: Sequence[Turn]
    bodies: list[Json] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, body: Json, request: Request) -> Turn:
        """Keep a request, and give what the model says to it."""
        with self.lock:
            self.bodies.append(body)
            self.results.extend(request.results[len(self.results) :])
        if not request.has_tools:
            return ASIDE
        if request.turn < len(self.turns):
            return self.turns[request.turn]
        return replace(self.turns[-1], calls=())


class Answers(BaseHTTPRequestHandler):
    """Answers one client."""

    protocol_version = "HTTP/1.1"
    conversation: ClassVar[Conversation]

    def log_message(self, *_words: object) -> None:
        """Say nothing: what matters is in the conversation."""

    def do_GET(self) -> None:
        """Say which models there are, whatever was asked."""
        self._whole({"object": "list", "data": [{"id": MODEL, "object": "model", "type": "model"}], "models": []})

    def do_HEAD(self) -> None:
        """Say that we are here."""
        self._whole({})

    def do_POST(self) -> None:
        """Say the next turn."""
        body = json.loads(self._body() or b"{}")
        path = urlsplit(self.path).path
        speech = next((speech for speech in SPEECHES if path.endswith(speech.path)), None)
        if speech is None:
            # counts of tokens, news, telemetry that nobody should send
            self._whole({"input_tokens": 10, "totalTokens": 10}, 200 if path.endswith("okens") else 404)
            return
        request = speech.read(body)
        turn = self.conversation.next(body, request)
        if body.get("stream") or "stream" in path:
            self._stream(speech, request, turn)
        else:
            self._whole(speech.whole(request, turn))

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", "").lower():
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _whole(self, answer: Json, status: int = 200) -> None:
        raw = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _stream(self, speech: Speech, request: Request, turn: Turn) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in speech.stream(request, turn):
            name = f"event: {event['type']}\n" if speech.named else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
        if speech.done:
            self.wfile.write(f"data: {speech.done}\n\n".encode())


@contextmanager
def speaking(conversation: Conversation) -> Iterator[int]:
    """Serve a conversation on a free port of loopback, and give the port."""
    answers = type("Answers", (Answers,), {"conversation": conversation})
    with ThreadingHTTPServer(("127.0.0.1", 0), answers) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
