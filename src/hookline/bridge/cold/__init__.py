"""Answering a call of an agent in a process of its own, where no daemon can be asked."""
