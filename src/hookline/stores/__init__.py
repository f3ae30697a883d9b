"""Stores: traces, state and the job queue, in SQLite or in memory."""
