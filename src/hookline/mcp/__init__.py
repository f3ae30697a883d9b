"""Servers of the Model Context Protocol: sessions with them, their logins, and the login itself."""
