"""OLLM hook: tells the model which files there are."""

import json
import sys
from pathlib import Path

json.load(sys.stdin)
names = ", ".join(sorted(path.name for path in Path.cwd().iterdir() if not path.name.startswith(".")))
json.dump({"continue": True, "systemMessage": f"Files here: {names}"}, sys.stdout)
