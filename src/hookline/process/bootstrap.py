"""Start a script from approved bytes, so that the script does not notice; and lend those bytes to a child.

Each interpreter gets a few words in place of the script's name: `python3 hook.py a` becomes
`python3 -c BOOTSTRAP /proc/self/fd/64 hook.py a`. They keep what scripts look at: their own name, their arguments, the
directory they are in, stdin, the lines in their error messages.

The bytes are handed to a child so that they cannot be changed any more. On Linux that is a memfd: a file without a name,
sealed against every change, which the child opens as `/proc/self/fd/N`. Where a program needs the file's name, or the
system has no memfds, it is a copy in a private temporary directory that is removed after the run.
"""
# runs before each start, where pathlib would cost more than the system calls
# ruff: noqa: PTH118

import json
import os
import re
import shutil
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from os.path import join
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import Final, Self, TypeAlias

from msgspec import Struct

# above the descriptors that programs open by themselves, and above 3, which shell templates use
_LOWEST: Final = 64

_POOL_SIZE: Final = 64
_POOL_BYTES: Final = 32 * 1024 * 1024

DESCRIPTOR: Final = "/proc/self/fd/"

_HAS_MEMFD: Final = sys.platform == "linux" and hasattr(os, "memfd_create") and os.path.isdir(DESCRIPTOR)  # noqa: PTH112

_VERSION: Final = re.compile(r"[\d.]+(?:\.exe)?$|\.exe$")

# For hooks that need approval: bytecode is searched where none can be, and none is written.
NO_COMPILED_FILES: Final = {"PYTHONPYCACHEPREFIX": "/dev/null/hookline", "PYTHONDONTWRITEBYTECODE": "1"}

# Bound to the name "_" until it is done, so that the script finds no name it did not define. Without -I and -P, Python puts
# "" first on the path: it is removed first, or the working directory would decide what "os" is. Bytecode beside the script
# is ignored: a project could bring some that is not made of the source beside it. That of installed packages counts, by
# the directories of this Python and not by their names. Functions that stay are detached from the script's globals, which
# would otherwise live as long as they do.
PYTHON_BOOTSTRAP: Final = f"""\
def _():
 import sys
 own=sys.path[:1]==[""]
 if own:del sys.path[0]
 import os
 source,name=sys.argv[1:3]
 sys.argv[:3]=[name]
 path=os.path.abspath(name)
 added=os.environ.get("PYTHONPATH","").split(os.pathsep)
 installed=tuple(entry.rstrip(os.sep)+os.sep for entry in sys.path if entry.endswith("-packages") and entry not in added)
 if own:sys.path.insert(0,os.path.dirname(os.path.realpath(path)))
 with open(source,"rb") as file:text=file.read()
 if source.startswith("{DESCRIPTOR}"):os.close(int(source[{len(DESCRIPTOR)}:]))
 def detach(function):return type(function)(function.__code__,{{"__builtins__":__builtins__}},function.__name__,None,function.__closure__)
 def show(kind,problem,trace):
  while trace is not None and trace.tb_frame.f_code.co_filename=="<string>":trace=trace.tb_next
  sys.__excepthook__(kind,problem.with_traceback(trace),trace)
 sys.excepthook=detach(show)
 scope=globals()
 del scope["_"]
 modules=sys.modules["_frozen_importlib_external"]
 cached,beside=modules.cache_from_source,os.path.dirname(os.path.realpath(path))+os.sep
 def find_cache(source,*rest,**more):
  if source.startswith(beside) and not source.startswith(installed):raise NotImplementedError
  return cached(source,*rest,**more)
 modules.cache_from_source=detach(find_cache)
 os.environ.update({NO_COMPILED_FILES!r})
 scope.update(__file__=path,__cached__=None,__loader__=modules.SourceFileLoader("__main__",path))
 return compile(text,path,"exec",dont_inherit=True)
exec(_())"""

# patched for one file and one time only
_NODE: Final = """\
{const module_=require("module"),fs=require("fs"),path=require("path"),[place,name]=process.argv.splice(1,2);\
process.argv.splice(1,0,path.resolve(name));\
process.execArgv.splice(process.execArgv.findIndex((word)=>word==="-e"),2);\
const real=module_._resolveFilename(process.argv[1],null,true),text=fs.readFileSync(place,"utf8").replace(/^\\uFEFF/,""),\
old=module_._extensions[".js"];\
module_._extensions[".js"]=function(made,file){if(file!==real)return old.apply(this,arguments);\
module_._extensions[".js"]=old;made._compile(text,file)};\
for(const name of["__filename","module","exports","__dirname","require"])delete globalThis[name];\
module_._load(process.argv[1],null,true)}"""

# ES modules are loaded through Node's own hooks: the first text runs in the script's thread, the second beside it. Processes
# and workers that the script starts get the same options: a fork must not get the script's text, a worker would hang.
_NODE_REGISTER: Final = """\
import{register}from"node:module";import{realpathSync}from"node:fs";import{pathToFileURL}from"node:url";\
import{isMainThread}from"node:worker_threads";\
if(isMainThread){process.execArgv.splice(process.execArgv.findLastIndex((word)=>word==="--import"),2);\
register(%s,{data:{place:%s,file:pathToFileURL(realpathSync(process.argv[1])).href}})}"""
_NODE_HOOKS: Final = """\
import{readFileSync}from"node:fs";let text,file;\
export function initialize(data){text=readFileSync(data.place,"utf8");file=data.file}\
export async function load(url,context,next){\
return url===file?{format:"module",source:text,shortCircuit:true}:next(url,context)}"""

# `bash -x` traces the script, and not this
_BASH_READ: Final = '{ _sealed_x=${-//[^x]/};set +x;} 2>/dev/null;IFS= read -r -d "" _sealed<%s||:;'
_BASH_CLEAR: Final = "unset _sealed _sealed_x;${_sealed_x:+set -x;}"
_BASH: Final = f'{_BASH_READ}eval "{_BASH_CLEAR}$_sealed"'
# bash does not allow to set BASH_SOURCE; scripts read their directory from it, and whether they were sourced
_BASH_WITH_SOURCE: Final = (
    f'{_BASH_READ}_sealed_source=("$0");eval "{_BASH_CLEAR}${{_sealed//BASH_SOURCE/_sealed_source}}"'
)
_EVAL: Final = 'eval "$(<%s)"'
_SOURCE: Final = ". %s"

_ARCHIVE: Final = b"PK\3\4"
_IMPORTS: Final = re.compile(rb"^(?:import\b\s*[\w{*'\"]|export\b\s*[\w{*])", re.MULTILINE)


class MemfdPool:
    """Sealed memfds by content, kept for the next call. Event loops of several threads may share one pool."""

    def __init__(self) -> None:
        self._descriptors: dict[bytes, int] = {}  # least recently used first
        self._users: dict[int, int] = {}
        self._lock = threading.Lock()
        weakref.finalize(self, _close_all, self._descriptors)

    def acquire(self, content: bytes) -> int:
        """Return a descriptor of these bytes; each call is followed by one `release`."""
        with self._lock:
            descriptor = self._descriptors.pop(content, None)
            if descriptor is None:
                for other, unused in list(self._descriptors.items()):
                    size = len(content) + sum(map(len, self._descriptors))
                    if len(self._descriptors) < _POOL_SIZE and size <= _POOL_BYTES:
                        break
                    self._close_unused(other, unused)
                descriptor = _create_memfd(content)
            self._descriptors[content] = descriptor
            self._users[descriptor] = self._users.get(descriptor, 0) + 1
            return descriptor

    def release(self, descriptor: int) -> None:
        """Note that one call no longer uses the descriptor."""
        with self._lock:
            self._users[descriptor] -= 1

    def close(self) -> None:
        """Close the descriptors that no call uses."""
        with self._lock:
            for content, descriptor in list(self._descriptors.items()):
                self._close_unused(content, descriptor)

    def _close_unused(self, content: bytes, descriptor: int) -> None:
        if not self._users.get(descriptor):
            self._users.pop(descriptor, None)
            del self._descriptors[content]
            os.close(descriptor)


def _close_all(descriptors: dict[bytes, int]) -> None:
    for descriptor in descriptors.values():
        os.close(descriptor)


class LentDescriptors:
    """What one call of one hook was lent, as a context manager that takes it back.

    `contents` are the bytes in `descriptors`. While `is_reusable`, they are all that was lent, and the next call with
    the same files would be lent the same.
    """

    def __init__(self, pool: MemfdPool) -> None:
        self.descriptors: list[int] = []
        self.contents: list[bytes] = []
        self.is_reusable = True
        self._pool = pool
        self._folder = ""
        self._copies: dict[str, bytes] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        """Release the descriptors and remove the copies."""
        for descriptor in self.descriptors:
            self._pool.release(descriptor)
        self.descriptors.clear()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def lend(self, content: bytes, name: str) -> str:
        """Return a path under which the child reads these bytes; without memfds, that of a copy."""
        if not _HAS_MEMFD:
            return self.lend_copy(content, name)
        descriptor = self._pool.acquire(content)
        self.descriptors.append(descriptor)
        self.contents.append(content)
        return f"{DESCRIPTOR}{descriptor}"

    def lend_again(self, contents: Sequence[bytes], descriptors: Sequence[int]) -> bool:
        """Lend what an earlier call was lent; return whether the descriptors have the same numbers."""
        for content in contents:
            self.descriptors.append(self._pool.acquire(content))
            self.contents.append(content)
        return self.descriptors == list(descriptors)

    def lend_copy(self, content: bytes, name: str) -> str:
        """Return the path of a copy under the same name, for programs that read the name or close descriptors."""
        self.is_reusable = False
        if not self._folder:
            self._folder = tempfile.mkdtemp(prefix="hookline-")
        copy = join(tempfile.mkdtemp(dir=self._folder), name)
        handle = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o500)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        self._copies[copy] = content
        return copy

    def find_altered_copy(self) -> str:
        """Return the name of a copy the hook wrote to: its changes to the real file would be lost silently."""
        altered = next((copy for copy, content in self._copies.items() if has_changed(copy, content)), "")
        return altered.rpartition("/")[2]


def _create_memfd(content: bytes) -> int:
    import fcntl  # noqa: PLC0415 - does not exist on Windows

    memfd = os.memfd_create("hookline", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(memfd, rest) :]
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(memfd, fcntl.F_ADD_SEALS, seals)
        return fcntl.fcntl(memfd, fcntl.F_DUPFD_CLOEXEC, _LOWEST)
    finally:
        os.close(memfd)


def has_changed(path: str, content: bytes) -> bool:
    """Return whether a file no longer holds these bytes; an unreadable file has changed."""
    try:
        with Path(path).open("rb", buffering=0) as file:
            return os.fstat(file.fileno()).st_size != len(content) or file.read() != content
    except OSError:
        return True


class ApprovedScript(Struct, frozen=True):
    """A script to start: the word that names it, its path, and its approved bytes."""

    word: str
    path: str
    content: bytes

    @property
    def name(self) -> str:
        """The file's name without its directory."""
        return self.path.rpartition("/")[2]


Replacement: TypeAlias = tuple[str | None, ...]
"""Words that replace one word; None stands for that word itself."""

Lender: TypeAlias = Callable[[bytes, str], str]


def split_names(names: str) -> frozenset[str]:
    """Return the names in a text."""
    return frozenset(names.split())


@lru_cache(maxsize=256)
def program_stem(program: str) -> str:
    """Return a program's name without its directory and version: python for /usr/bin/python3.11."""
    name = program.rpartition("/")[2]
    return _VERSION.sub("", name) or name


def script_index(words: Sequence[str | None]) -> int | None:
    """Return the index of an interpreter's script; None if there is none, or it is known only at run time."""
    index = _first_operand(words)
    return None if index is None or words[index] is None else index


def dynamic_script_index(words: Sequence[str | None]) -> int | None:
    """Return the index of a word expanded at run time that names a script, or the file a shell sources."""
    index = _first_operand(words) if words[0] not in {".", "source"} else 1
    return index if index is not None and index < len(words) and words[index] is None else None


class _ProgramOptions(Struct, frozen=True):
    """A row of the table of programs: options without dashes, and the operands of a wrapper."""

    code: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    subcommands: frozenset[str] = frozenset()
    lead: int = 0
    is_wrapper: bool = False


@lru_cache(maxsize=256)
def _find_options(name: str) -> _ProgramOptions:
    from hookline.shell.programs import find_program  # noqa: PLC0415 - a large table, and most commands are cached

    row = find_program(name)
    if row is None:
        return _ProgramOptions()
    options = {spelling.lstrip("-"): option for spelling, option in row.options.items()}
    return _ProgramOptions(
        code=frozenset(name for name, option in options.items() if option.role in {"code", "module"}),
        valued=frozenset(name for name, option in options.items() if option.takes_value),
        subcommands=frozenset(row.subcommands),
        lead=sum(role != "env*" for role in row.operands) if row.wraps else 0,
        is_wrapper=row.wraps == "words" or any(inner.wraps == "words" for inner in row.subcommands.values()),
    )


def is_wrapper(program: str) -> bool:
    """Return whether a program starts the program that its words name."""
    return _find_options(program_stem(program)).is_wrapper


def wrapped_indexes(words: Sequence[str | None], start: int) -> list[int]:
    """Return the indexes of the words after a wrapper that are the program it starts or belong to it."""
    options = _find_options(program_stem(words[start] or ""))
    indexes: list[int] = []
    index, lead = start + 1, options.lead
    while index < len(words):
        word = words[index] or ""
        if word.startswith("-") and not indexes:
            index += 1 if not _split_options(word, options.valued)[1] else 2
            continue
        if lead:
            lead -= 1
        else:
            indexes.append(index)
        index += 1
    return indexes


def _first_operand(words: Sequence[str | None]) -> int | None:
    name = program_stem(words[0] or "")
    if name not in _BOOTSTRAPS:
        return None
    options = _find_options(name)
    code = options.code | _NOT_WITH_CODE.get(name, frozenset())
    ends = {"--", "-"} if name in _SHELLS else {"--"}
    index = 1
    while index < len(words):
        word = words[index]
        if word is None or word[:1] not in {"-", "+"}:
            if word not in options.subcommands:
                return index
            index += 1
        elif word in ends:
            return index + 1 if index + 1 < len(words) else None
        elif word == "-":
            return None
        else:
            names, takes_next = _split_options(word, options.valued - code)
            if not code.isdisjoint(names):
                return None
            index += 2 if takes_next else 1
    return None


def inline_code_index(words: Sequence[str | None]) -> int | None:
    """Return the index of the line in `sh -c LINE`; None if there is none."""
    if program_stem(words[0] or "") not in _SHELLS:
        return None
    has_option = False
    for index, word in enumerate(words[1:], start=1):
        if word is None:
            return None
        if word[:1] not in {"-", "+"}:
            return index if has_option else None
        has_option = has_option or (not word.startswith("--") and "c" in word)
    return None


def _split_options(word: str, valued: Collection[str]) -> tuple[list[str], bool]:
    """Return the options in a word, and whether the next word is the value of the last one."""
    if word.startswith("--"):
        name, equals, _ = word[2:].partition("=")
        return [name], name in valued and not equals
    names: list[str] = []
    for letter in word[1:]:
        names.append(letter)
        if letter in valued:
            # the rest of the word is its value
            return names, len(names) == len(word) - 1
    return names, False


def bootstrap_words(program: str, script: ApprovedScript, lent: LentDescriptors, *, as_copy: bool) -> Replacement:
    """Return the words in the script's place that make the program run its approved bytes.

    With `as_copy`, the program does not inherit descriptors.
    """
    bootstrap = _BOOTSTRAPS.get(program_stem(program), _copy)
    return bootstrap(script, lent, lent.lend_copy if as_copy else lent.lend)


def _python(script: ApprovedScript, lent: LentDescriptors, lend: Lender) -> Replacement:
    if script.content.startswith(_ARCHIVE) or b"\0" in script.content:
        return (lent.lend_copy(script.content, script.name),)
    return ("-c", PYTHON_BOOTSTRAP, lend(script.content, script.name), None)


def _bash(script: ApprovedScript, lent: LentDescriptors, lend: Lender) -> Replacement:
    if b"\0" in script.content:
        return (lent.lend_copy(script.content, script.name),)
    code = _BASH_WITH_SOURCE if b"BASH_SOURCE" in script.content else _BASH
    return ("-c", code % quote(lend(script.content, script.name)), None)


def _zsh(script: ApprovedScript, _lent: LentDescriptors, lend: Lender) -> Replacement:
    return ("-c", _EVAL % quote(lend(script.content, script.name)), None)


def _sh(script: ApprovedScript, _lent: LentDescriptors, lend: Lender) -> Replacement:
    return ("-c", _SOURCE % quote(lend(script.content, script.name)), None)


def _node(script: ApprovedScript, lent: LentDescriptors, lend: Lender) -> Replacement:
    suffix = Path(script.name).suffix
    if suffix not in {"", ".js", ".cjs", ".mjs"} or b"\0" in script.content:
        return (lent.lend_copy(script.content, script.name),)
    path = lend(script.content, script.name)
    lent.is_reusable = False  # a package.json may decide otherwise at the next call
    if not _is_es_module(script, suffix):
        return ("-e", _NODE, path, None)
    register = _NODE_REGISTER % (json.dumps(_data_url(_NODE_HOOKS)), json.dumps(path))
    return ("--import", _data_url(register), None)


def _data_url(code: str) -> str:
    from urllib.parse import quote as quote_url  # noqa: PLC0415 - for ES modules only

    return f"data:text/javascript,{quote_url(code)}"


def _is_es_module(script: ApprovedScript, suffix: str) -> bool:
    """Return whether Node takes the file for an ES module."""
    if suffix in {".mjs", ".cjs"}:
        return suffix == ".mjs"
    kind = ""
    for folder in Path(script.path).parents:
        with suppress(OSError):
            text = (folder / "package.json").read_bytes()
            with suppress(ValueError):
                package = json.loads(text)
                kind = str(package.get("type", "")) if isinstance(package, dict) else ""
            break
    return kind == "module" or (not kind and bool(_IMPORTS.search(script.content)))


def _copy(script: ApprovedScript, lent: LentDescriptors, _lend: Lender) -> Replacement:
    return (lent.lend_copy(script.content, script.name),)


_SHELLS: Final = split_names("sh bash dash zsh ksh mksh ash rbash posh yash")
# options with code in place of a script, and those with which a script would be treated differently than code
_NOT_WITH_CODE: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        **dict.fromkeys(_SHELLS, split_names("c n v s")),
        **dict.fromkeys(split_names("node nodejs"), split_names("test watch check c run")),
    }
)
_BOOTSTRAPS: Final[Mapping[str, Callable[[ApprovedScript, LentDescriptors, Lender], Replacement]]] = MappingProxyType(
    {
        **dict.fromkeys(split_names("python pythonw pypy"), _python),
        **dict.fromkeys(split_names("sh dash ash posh yash mksh"), _sh),
        **dict.fromkeys(split_names("bash rbash"), _bash),
        **dict.fromkeys(split_names("zsh ksh"), _zsh),
        **dict.fromkeys(split_names("node nodejs"), _node),
        **dict.fromkeys(split_names("perl raku ruby jruby deno bun tsx ts-node php php-cli lua luajit"), _copy),
        **dict.fromkeys(
            split_names("fish csh tcsh osascript tclsh expect Rscript julia elixir groovy pwsh powershell"), _copy
        ),
    }
)


INTERPRETERS: Final = frozenset(_BOOTSTRAPS)
"""Programs whose first argument is a script."""


def parse_shebang(content: bytes) -> tuple[str, ...]:
    """Parse the `#!` line of a script: its interpreter and its words; `env NAME` is NAME, to be found on PATH."""
    if not content.startswith(b"#!"):
        return ()
    line = content[2:].partition(b"\n")[0].decode("utf-8", "surrogateescape").strip()
    # the system gives an interpreter one argument at most, blanks included
    words = tuple(line.split(maxsplit=1))
    if len(words) == 1 or program_stem(words[0]) != "env":
        return words
    command = words[1].removeprefix("-S").split()
    is_program = bool(command) and "=" not in command[0] and not command[0].startswith("-")
    return tuple(command) if is_program else (words[0], *command)
