"""What a security team would put on the path: judges a command given as its argument."""

import json
import sys

risky = [word for word in ("rm -rf", "sudo") if word in sys.argv[1]]
if risky:
    answer = {
        "continue": False,
        "decision": "block",
        "reason": "the command is risky",
        "metadata": {"risk_level": "high", "blocked_patterns": risky},
    }
else:
    answer = {"continue": True, "decision": "approve", "reason": "harmless"}
print(json.dumps(answer))
