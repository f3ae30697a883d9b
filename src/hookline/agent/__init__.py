"""The reference agent: a small agent on Pydantic AI, and every event of Hookline where it happens.

Read it as an example: `conversation.py` is the loop, raises the events of a turn, and hands Pydantic AI's own moments (a model
request, a tool call) to the hooks; the other modules are what every agent needs besides.
"""
