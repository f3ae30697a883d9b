"""Whether a hook may run: approvals, and what they are about."""
