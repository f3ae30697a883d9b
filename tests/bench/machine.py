"""What kind of machine this is, in words that name no machine."""

import os
import platform
import sys
import sysconfig
import time


def describe() -> dict[str, str]:
    """Say what matters for speed."""
    release = ".".join(platform.release().split("-")[0].split(".")[:2])
    arguments = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    kind = "with" if "--enable-optimizations" in arguments else "without"
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "cores": str(os.cpu_count() or "unknown"),
        "processor": platform.machine(),
        "system": f"{platform.system()} {release}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}, built {kind} profile-guided optimization",
        "threads of Python": "free" if not getattr(sys, "_is_gil_enabled", lambda: True)() else "one at a time",
        "load before the run": load,
        "day": time.strftime("%Y-%m-%d"),
    }
