"""A scripted model on loopback that speaks the APIs of Ollama, OpenAI and Anthropic."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from msgspec import Struct

TOKENS_IN: Final = 100
TOKENS_OUT: Final = 20
JUDGEMENT: Final = {"decision": "deny", "reason": "it deletes everything"}
API_OF_PATH: Final = {"/api/chat": "ollama", "/v1/chat/completions": "openai", "/v1/messages": "anthropic"}


class Asked(Struct, frozen=True, kw_only=True):
    """One request as the model sees it."""

    api: str
    headers: Mapping[str, str]
    body: Mapping[str, object]

    @property
    def system(self) -> str:
        """The instructions."""
        if self.api == "anthropic":
            return str(self.body["system"])
        return str(self._messages()[0]["content"])

    @property
    def text(self) -> str:
        """What the user says."""
        return str(self._messages()[-1]["content"])

    def _messages(self) -> list[Mapping[str, object]]:
        messages = self.body["messages"]
        assert isinstance(messages, list)
        return messages


class Raw(Struct, frozen=True):
    """A response that is no answer of a model."""

    status: int = 200
    body: bytes = b""


# an answer is text, a JSON value, or a response as it stands; None says nothing until the server closes
Answer = str | Mapping[str, object] | Raw | None
Script = Callable[[Asked], Answer]


class ModelServer:
    """What the model was asked, and where it is."""

    def __init__(self, script: Script | Answer) -> None:
        self.asked: list[Asked] = []
        self.script = script if callable(script) else lambda _asked: script
        self.closing = threading.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environ(self) -> dict[str, str]:
        """Variables that lead to this model in every API."""
        return {
            "OLLAMA_HOST": f"127.0.0.1:{self.port}",
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "ANTHROPIC_BASE_URL": self.url,
            "OPENAI_API_KEY": "sk-test-openai-0123456789abcdef",
            "ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef",
        }

    def answer(self, asked: Asked) -> Raw:
        """Return the response of the API that was called."""
        self.asked.append(asked)
        said = self.script(asked)
        if said is None:
            self.closing.wait(60)
            return Raw(503)
        if isinstance(said, Raw):
            return said
        return Raw(body=json.dumps(_SHAPES[asked.api](said)).encode())


def _ollama(said: str | Mapping[str, object]) -> object:
    text = said if isinstance(said, str) else json.dumps(said)
    return {
        "message": {"role": "assistant", "content": text},
        "done": True,
        "prompt_eval_count": TOKENS_IN,
        "eval_count": TOKENS_OUT,
    }


def _openai(said: str | Mapping[str, object]) -> object:
    message: dict[str, object] = {"role": "assistant", "content": said if isinstance(said, str) else json.dumps(said)}
    if isinstance(said, Mapping) and "refusal" in said:
        message = {"role": "assistant", "content": None, **said}
    usage = {"prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT}
    return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


def _anthropic(said: str | Mapping[str, object]) -> object:
    usage = {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT}
    if isinstance(said, str):
        return {"content": [{"type": "text", "text": said}], "stop_reason": "end_turn", "usage": usage}
    if "refusal" in said:
        text = {"type": "text", "text": said["refusal"]}
        return {"content": [text], "stop_reason": "refusal", "usage": usage}
    used = {"type": "tool_use", "id": "toolu_1", "name": "answer", "input": said}
    return {"content": [used], "stop_reason": "tool_use", "usage": usage}


_SHAPES: Final = {"ollama": _ollama, "openai": _openai, "anthropic": _anthropic}


@contextmanager
def serve_model(script: Script | Answer = None) -> Iterator[ModelServer]:
    """Run a model that answers as its script says."""
    model = ModelServer(script)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            api = API_OF_PATH.get(self.path)
            response = model.answer(Asked(api=api, headers=headers, body=body)) if api else Raw(404)
            self.send_response(response.status)
            self.send_header("content-length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as above
            """Stay silent."""

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.closing.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
