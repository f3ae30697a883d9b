"""The reference agent: a small agent on Pydantic AI, and every event of Hookline where it happens.

Read it as an example: `conversation.py` is the loop and raises the events of a turn, `lifecycle.py` hands Pydantic AI's own
moments (a model request, a tool call) to the hooks, and the other modules are what every agent needs besides.
"""
