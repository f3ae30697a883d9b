"""The environment of a child process, and where its program is found."""

# ruff: noqa: PTH118

import os
import re
from collections.abc import Mapping
from typing import Final, cast

from hookline import caller_context
from hookline.model.workspace_paths import find_program, is_inside_real, without_folders
from hookline.process.result import EncodedEnv, Env

# a shell would run the file they name before the hook itself
_REMOVED: Final = frozenset({"BASH_ENV", "ENV"})
_REMOVED_ENCODED: Final = frozenset(name.encode() for name in _REMOVED)
# functions that bash exports would replace the programs of a script
_BASH_FUNCTION: Final = b"BASH_FUNC_"

# variables with directories in which programs, libraries and modules are searched
_SEARCH_PATHS: Final = (
    *("PATH", "PYTHONPATH", "NODE_PATH", "PERL5LIB", "PERLLIB", "RUBYLIB", "GEM_PATH", "CLASSPATH", "CDPATH", "FPATH"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "JULIA_LOAD_PATH"),
)
# variables that name files which are loaded or started before, or instead of, the program
_LOADED_FILES: Final = re.compile(
    rb"LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|NODE_OPTIONS|BUN_OPTIONS|PYTHON(?:STARTUP|HOME|USERBASE|PYCACHEPREFIX)"
    rb"|PERL5OPT|PERL5DB|RUBYOPT|LUA_(?:INIT|PATH|CPATH)\w*|(?:_|JDK_)?JAVA_(?:TOOL_)?OPTIONS|MAKEFILES|MAKEFLAGS|GEM_HOME"
    rb"|(?i:npm_config_)\w+|SHELLOPTS|BASHOPTS|PS4|PHP_INI_SCAN_DIR|PHPRC"
    rb"|GIT_(?:CONFIG\w*|EXEC_PATH|SSH|SSH_COMMAND|EXTERNAL_DIFF|PROXY_COMMAND|ASKPASS|EDITOR|PAGER|TEMPLATE_DIR)"
)
_SEPARATORS: Final = re.compile(r"[\s:;=,'\"]+")

_PATH: Final = b"PATH" if os.supports_bytes_environ else "PATH"

_CACHE_SIZE: Final = 256


def is_loader_variable(name: str) -> bool:
    """Return whether a variable names files that programs load or start before, or instead of, what they were asked to."""
    return name in _REMOVED or _LOADED_FILES.fullmatch(os.fsencode(name)) is not None


def is_search_path(name: str) -> bool:
    """Return whether a variable has folders in which programs, libraries and modules are searched."""
    return name in _SEARCH_PATHS


def _encode(text: str) -> bytes:
    """Encode the value of a variable; no value of an event may keep a hook from running."""
    try:
        raw = os.fsencode(text)
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "replace")
    return raw.replace(b"\0", "\N{SYMBOL FOR NULL}".encode()) if b"\0" in raw else raw


class Environment:
    """The environment of the caller, prepared for children once per change."""

    def __init__(self) -> None:
        self._source: dict[bytes, bytes] = {}
        self._base: dict[bytes, bytes] = {}

    def with_layers(
        self, *layers: Mapping[str, str], env_filter: "EnvironmentFilter | EnvironmentAllowList | None" = None
    ) -> Env:
        """Return a child's environment: the caller's, filtered, with the layers on top, later ones over earlier ones."""
        if not os.supports_bytes_environ:
            own = {name: value for name, value in caller_context.full_environ().items() if name not in _REMOVED}
            return own | {name.upper(): value for layer in layers for name, value in layer.items()}
        env = EncodedEnv(self.for_caller(caller_context.current()))
        if env_filter is not None:
            env_filter.apply(env)
        for layer in layers:
            for name, value in layer.items():
                env[os.fsencode(name)] = _encode(value)
        return env

    def for_caller(self, caller: caller_context.CallerContext | None) -> dict[bytes, bytes]:
        """Return the variables of a caller, or of this program, that children get: the same object until they change."""
        if caller is not None:
            source = caller.encoded
        else:
            # Comparing the dict inside `os.environ` takes half a microsecond, reading it through `os.environ` thirty.
            data = getattr(os.environ, "_data", None)
            source = data if isinstance(data, dict) else dict(os.environb)
        if source != self._source:
            self._source = source.copy()
            # a variable without a name cannot be passed on
            self._base = {
                name: value
                for name, value in source.items()
                if name and name not in _REMOVED_ENCODED and not name.startswith(_BASH_FUNCTION)
            }
        return self._base


# what programs need to find their files and to speak the user's language, and where tools were installed
_HARMLESS: Final = frozenset(
    name.encode()
    for name in (
        *(
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "SHELL",
            "LANG",
            "LANGUAGE",
            "TERM",
            "COLORTERM",
            "NO_COLOR",
            "TZ",
            "TZDIR",
        ),
        *("PWD", "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "PYENV_VERSION", "NVM_DIR", "NVM_BIN", "FNM_DIR"),
        *(
            "VOLTA_HOME",
            "ASDF_DIR",
            "ASDF_DATA_DIR",
            "MISE_DATA_DIR",
            "RBENV_ROOT",
            "SDKMAN_DIR",
            "JAVA_HOME",
            "GOROOT",
        ),
        *("GOPATH", "CARGO_HOME", "RUSTUP_HOME", "DOTNET_ROOT", "CI", "COLUMNS", "LINES", "SOURCE_DATE_EPOCH"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR"),
    )
)
# the agent refuses lines of this file by which a contained hook would get out of its sandbox
ENV_FILE_VARIABLE: Final = "OLLAMA_ENV_FILE"
_ENV_FILE: Final = ENV_FILE_VARIABLE.encode()
_HARMLESS_PREFIXES: Final = (b"LC_", b"XDG_", b"HOOKLINE_")
# with the token of the user, a hook could approve others
_SECRET: Final = re.compile(rb"TOKEN|KEY|SECRET|PASSW|CREDENTIAL")


class EnvironmentAllowList:
    """Gives a contained hook none of the user's variables but the harmless ones and those that it names."""

    def __init__(self, named: tuple[str, ...]) -> None:
        self._named = frozenset(map(os.fsencode, named))

    def apply(self, env: dict[bytes, bytes]) -> None:
        """Remove from an environment what is not allowed."""
        for name in [name for name in env if not self._allows(name)]:
            del env[name]

    def has(self, name: str) -> bool:
        """Return whether a variable is allowed."""
        return self._allows(os.fsencode(name))

    def _allows(self, name: bytes) -> bool:
        is_harmless = name in _HARMLESS or (name.startswith(_HARMLESS_PREFIXES) and not _SECRET.search(name))
        return is_harmless or name == _ENV_FILE or name in self._named


class EnvironmentFilter:
    """Keeps a user's own hook from taking programs or modules out of a project's directories."""

    def __init__(self, untrusted_dirs: tuple[str, ...], cwd: str) -> None:
        self._untrusted_dirs = untrusted_dirs
        self._cwd = cwd

    def apply(self, env: dict[bytes, bytes]) -> None:
        """Remove from an environment what leads into the project."""
        if not self._untrusted_dirs:
            return
        for key in (name.encode() for name in _SEARCH_PATHS):
            if key in env:
                kept = without_folders(os.fsdecode(env[key]), self._untrusted_dirs)
                if kept:
                    env[key] = os.fsencode(kept)
                else:
                    del env[key]
        for key in [key for key in env if _LOADED_FILES.fullmatch(key)]:
            if any(map(self._is_untrusted, _SEPARATORS.split(os.fsdecode(env[key])))):
                del env[key]

    def _is_untrusted(self, word: str) -> bool:
        if not word or word.startswith("-"):
            return False
        path = os.path.join(self._cwd, word)
        return is_inside_real(path, self._untrusted_dirs) and os.path.lexists(path)


def add_variables(env: Env, variables: Mapping[str, str]) -> Env:
    """Return an environment with some variables on top."""
    if not os.supports_bytes_environ:
        return {**cast("Mapping[str, str]", env), **variables}
    encoded = {os.fsencode(name): _encode(value) for name, value in variables.items()}
    return EncodedEnv({**cast("Mapping[bytes, bytes]", env), **encoded})


def get_search_path(env: Env) -> str:
    """Return the PATH of a child with this environment."""
    path = cast("Mapping[bytes | str, bytes | str]", env).get(_PATH)
    return os.defpath if path is None else os.fsdecode(path)


def get_variable(env: Env, name: str) -> str | None:
    """Return one variable of a child's environment."""
    key = os.fsencode(name) if os.supports_bytes_environ else name
    value = cast("Mapping[bytes | str, bytes | str]", env).get(key)
    return None if value is None else os.fsdecode(value)


class ProgramFinder:
    """Finds programs on a search path, and caches where they are."""

    def __init__(self) -> None:
        self._cache: dict[tuple[str, str, tuple[str, ...]], str] = {}

    def find(self, name: str, path: str, untrusted_dirs: tuple[str, ...] = ()) -> str:
        """Return a program that is in none of the untrusted directories; empty if there is none."""
        program = self._cache.get((name, path, untrusted_dirs))
        if program is None:
            program = find_program(name, path, untrusted_dirs)
            if program:
                if len(self._cache) >= _CACHE_SIZE:
                    self._cache.clear()
                self._cache[name, path, untrusted_dirs] = program
        return program

    def find_anew(self, name: str, path: str, untrusted_dirs: tuple[str, ...] = ()) -> str:
        """Search for a program that is no longer where it was."""
        self._cache.pop((name, path, untrusted_dirs), None)
        return self.find(name, path, untrusted_dirs)
