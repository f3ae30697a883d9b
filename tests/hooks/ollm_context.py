#!/usr/bin/env python3
"""Tells the model where and for whom it works."""

import json
import os
import sys


def main():
    try:
        asked = json.load(sys.stdin)
        if asked["event"] == "before_model":
            print(f"asked about {asked['data']['model']}", file=sys.stderr)
            text = f"\nFolder: {os.getcwd()}\nUser: {os.environ.get('USER', 'unknown')}\n"
            json.dump({"continue": True, "systemMessage": text.strip()}, sys.stdout)
        else:
            json.dump({"continue": True}, sys.stdout)
    except Exception as problem:
        json.dump({"continue": True, "error": str(problem)}, sys.stdout)


if __name__ == "__main__":
    main()
