"""Start hook processes, limit them, and end them; keep warm interpreters and long-lived hook processes."""

from typing import Final

from hookline.process import linux, portable

run: Final = linux.run if linux.is_supported() else portable.run
"""The process runner of this system."""
