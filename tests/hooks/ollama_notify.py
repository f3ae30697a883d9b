"""Posts a summary to the address in the payload."""

import json
from urllib.request import Request, urlopen


def on_session_end(payload: dict) -> dict:
    address = payload.get("webhook_url")
    if not address:
        return {"notified": False}
    text = f"{payload.get('summary', {}).get('total_tokens', 0)} tokens used"
    urlopen(Request(address, data=json.dumps({"text": text}).encode(), method="POST"), timeout=5).read()
    return {"notified": True}


if __name__ == "__main__":
    print(json.dumps(on_session_end(json.loads(input()))))
