"""How a script is started from vetted bytes so that it does not notice.

Each way is a handful of words that stand where the script's name stood: `python3 hook.py a` becomes
`python3 -c BOOT /proc/self/fd/64 hook.py a`. They keep what scripts look at: their own name, their arguments, the
folder they lie in, stdin, the lines in their error messages.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec import Struct

from hookline.kinds._sealed import DESCRIPTOR, Seals
from hookline.kinds.shell.programs import INTERPRETERS, WRAPPERS

_VERSION: Final = re.compile(r"[\d.]+(?:\.exe)?$|\.exe$")

# Bound to the name "_" until it has done its work, so that the script finds no name it did not make. Without -I and
# -P, Python puts "" before all other folders: away with it first, or the working folder would decide what "os" is.
# Compiled files beside the script are passed over: a project could bring one that is not made of the text beside it.
# What stays behind is taken apart from the script's own names, which would otherwise outlive their time.
PYTHON_START: Final = f"""\
def _():
 import sys
 own=sys.path[:1]==[""]
 if own:del sys.path[0]
 import os
 place,name=sys.argv[1:3]
 sys.argv[:3]=[name]
 path=os.path.abspath(name)
 if own:sys.path.insert(0,os.path.dirname(os.path.realpath(path)))
 with open(place,"rb") as file:text=file.read()
 if place.startswith("{DESCRIPTOR}"):os.close(int(place[{len(DESCRIPTOR)}:]))
 def apart(made):return type(made)(made.__code__,{{"__builtins__":__builtins__}},made.__name__,None,made.__closure__)
 def show(kind,problem,trace):
  while trace is not None and trace.tb_frame.f_code.co_filename=="<string>":trace=trace.tb_next
  sys.__excepthook__(kind,problem.with_traceback(trace),trace)
 sys.excepthook=apart(show)
 scope=globals()
 del scope["_"]
 modules=sys.modules["_frozen_importlib_external"]
 cached,beside=modules.cache_from_source,os.path.dirname(os.path.realpath(path))+os.sep
 def fresh(source,*rest,**more):
  if source.startswith(beside) and "site-packages" not in source:raise NotImplementedError
  return cached(source,*rest,**more)
 modules.cache_from_source=apart(fresh)
 scope.update(__file__=path,__cached__=None,__loader__=modules.SourceFileLoader("__main__",path))
 return compile(text,path,"exec",dont_inherit=True)
exec(_())"""

# Patched for one file and one time only; everything else about the main module stays Node's own business.
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

# For ES modules Node has hooks of its own. The first runs in the hook's thread, the second beside it. Whatever the
# script starts gets the same options: a fork must not be given the script's text, and a worker would wait for ever.
_NODE_ASKS: Final = """\
import{register}from"node:module";import{realpathSync}from"node:fs";import{pathToFileURL}from"node:url";\
import{isMainThread}from"node:worker_threads";\
if(isMainThread){process.execArgv.splice(process.execArgv.findLastIndex((word)=>word==="--import"),2);\
register(%s,{data:{place:%s,file:pathToFileURL(realpathSync(process.argv[1])).href}})}"""
_NODE_ANSWERS: Final = """\
import{readFileSync}from"node:fs";let text,file;\
export function initialize(data){text=readFileSync(data.place,"utf8");file=data.file}\
export async function load(url,context,next){\
return url===file?{format:"module",source:text,shortCircuit:true}:next(url,context)}"""

# Whoever asks for a trace (bash -x) gets one of the script, and not of how it came here.
_BASH_READ: Final = '{ _sealed_x=${-//[^x]/};set +x;} 2>/dev/null;IFS= read -r -d "" _sealed<%s||:;'
_BASH_CLEAR: Final = "unset _sealed _sealed_x;${_sealed_x:+set -x;}"
_BASH: Final = f'{_BASH_READ}eval "{_BASH_CLEAR}$_sealed"'
# The one name bash does not let anybody set. A script asks it for its own folder, or whether it was sourced.
_BASH_WITH_SOURCE: Final = (
    f'{_BASH_READ}_sealed_source=("$0");eval "{_BASH_CLEAR}${{_sealed//BASH_SOURCE/_sealed_source}}"'
)
_EVALUATED: Final = 'eval "$(<%s)"'
_SOURCED: Final = ". %s"

_ARCHIVE: Final = b"PK\3\4"
_IMPORTS: Final = re.compile(rb"^(?:import\b\s*[\w{*'\"]|export\b\s*[\w{*])", re.MULTILINE)


class Script(Struct, frozen=True):
    """A script to be started: the word that named it, where it lies, and its vetted bytes."""

    word: str
    path: str
    content: bytes

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self.path.rpartition("/")[2]


Words: TypeAlias = tuple[str | None, ...]
"""Words in place of one word; None stands for that word itself."""

Opener: TypeAlias = Callable[[bytes, str], str]


def each(names: str) -> frozenset[str]:
    """Give the names written in one text."""
    return frozenset(names.split())


@lru_cache(maxsize=256)
def stem(program: str) -> str:
    """Give a program's name without its folder and version: python for /usr/bin/python3.11."""
    name = program.rpartition("/")[2]
    return _VERSION.sub("", name) or name


def script_place(words: Sequence[str | None]) -> int | None:
    """Say which word of an interpreter's command names its script; None when it has none, or nobody can know."""
    place = _first_operand(words)
    return None if place is None or words[place] is None else place


def unknown_place(words: Sequence[str | None]) -> int | None:
    """Say which word, made when it runs, names the script of an interpreter, or the file a shell is to source."""
    place = _first_operand(words) if words[0] not in {".", "source"} else 1
    return place if place is not None and place < len(words) and words[place] is None else None


def wrapped_places(words: Sequence[str | None], start: int) -> list[int]:
    """Say which words after a wrapper may be the program it starts, or belong to it: not the wrapper's own."""
    spec = WRAPPERS[stem(words[start] or "")]
    places: list[int] = []
    place, lead = start + 1, spec.lead
    while place < len(words):
        word = words[place] or ""
        if word.startswith("-") and not places:
            place += 1 if not _options(word, spec.values)[1] else 2
            continue
        if lead:
            lead -= 1
        else:
            places.append(place)
        place += 1
    return places


def _first_operand(words: Sequence[str | None]) -> int | None:
    name = stem(words[0] or "")
    spec = INTERPRETERS.get(name) if name in _STARTS else None
    if spec is None:
        return None
    code = spec.code | _NOT_WITH_CODE.get(name, frozenset())
    ends = {"--", "-"} if name in _SHELLS else {"--"}
    valued = spec.values.keys() | spec.loads
    place = 1
    while place < len(words):
        word = words[place]
        if word is None or word[:1] not in {"-", "+"}:
            if word not in spec.subcommands:
                return place
            place += 1
        elif word in ends:
            return place + 1 if place + 1 < len(words) else None
        elif word == "-":
            return None
        else:
            names, waits = _options(word, valued)
            if any(name in code | spec.stdin_flags for name in names):
                return None
            place += 2 if waits else 1
    return None


def inline_place(words: Sequence[str | None]) -> int | None:
    """Say which word of a shell's command is itself a line, as in `sh -c LINE`; None when there is none."""
    if stem(words[0] or "") not in _SHELLS:
        return None
    asked = False
    for place, word in enumerate(words[1:], start=1):
        if word is None:
            return None
        if word[:1] not in {"-", "+"}:
            return place if asked else None
        asked = asked or (not word.startswith("--") and "c" in word)
    return None


def _options(word: str, valued: Collection[str]) -> tuple[list[str], bool]:
    """Take a word of options apart, and say whether the next word is the value of the last one."""
    if word.startswith("--"):
        name, equals, _ = word[2:].partition("=")
        return [name], name in valued and not equals
    names: list[str] = []
    for letter in word[1:]:
        names.append(letter)
        if letter in valued:
            # what follows it in the same word is its value
            return names, len(names) == len(word) - 1
    return names, False


def start_words(program: str, script: Script, seals: Seals, *, apart: bool) -> Words:
    """Say what stands in the script's place so that the program runs its vetted bytes.

    `apart` says that it does not get our descriptors.
    """
    return _STARTS.get(stem(program), _other)(script, seals, seals.copied if apart else seals.opened)


def _python(script: Script, seals: Seals, opener: Opener) -> Words:
    if script.content.startswith(_ARCHIVE) or b"\0" in script.content:
        return (seals.copied(script.content, script.name),)
    return ("-c", PYTHON_START, opener(script.content, script.name), None)


def _bash(script: Script, seals: Seals, opener: Opener) -> Words:
    if b"\0" in script.content:
        return (seals.copied(script.content, script.name),)
    boot = _BASH_WITH_SOURCE if b"BASH_SOURCE" in script.content else _BASH
    return ("-c", boot % quote(opener(script.content, script.name)), None)


def _evaluated(script: Script, _seals: Seals, opener: Opener) -> Words:
    return ("-c", _EVALUATED % quote(opener(script.content, script.name)), None)


def _sourced(script: Script, _seals: Seals, opener: Opener) -> Words:
    return ("-c", _SOURCED % quote(opener(script.content, script.name)), None)


def _node(script: Script, seals: Seals, opener: Opener) -> Words:
    suffix = Path(script.name).suffix
    if suffix not in {"", ".js", ".cjs", ".mjs"} or b"\0" in script.content:
        return (seals.copied(script.content, script.name),)
    place = opener(script.content, script.name)
    seals.lasting = False  # a package.json may say something else by then
    if not _is_module(script, suffix):
        return ("-e", _NODE, place, None)
    asks = _NODE_ASKS % (json.dumps(_data_url(_NODE_ANSWERS)), json.dumps(place))
    return ("--import", _data_url(asks), None)


def _data_url(code: str) -> str:
    from urllib.parse import quote as encoded  # noqa: PLC0415 - for ES modules only

    return f"data:text/javascript,{encoded(code)}"


def _is_module(script: Script, suffix: str) -> bool:
    """Say whether Node takes the file for an ES module."""
    if suffix in {".mjs", ".cjs"}:
        return suffix == ".mjs"
    for folder in Path(script.path).parents:
        with suppress(OSError):
            text = (folder / "package.json").read_bytes()
            return _package_type(text) == "module" or (
                not _package_type(text) and bool(_IMPORTS.search(script.content))
            )
    return bool(_IMPORTS.search(script.content))


def _package_type(text: bytes) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        return ""
    return str(found.get("type", "")) if isinstance(found, dict) else ""


def _other(script: Script, seals: Seals, _opener: Opener) -> Words:
    return (seals.copied(script.content, script.name),)


_SHELLS: Final = each("sh bash dash zsh ksh mksh ash rbash posh yash")
# code instead of a script, and their own ways with a script that would do something else with code
_NOT_WITH_CODE: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {**dict.fromkeys(_SHELLS, each("c n v")), **dict.fromkeys(each("node nodejs"), each("test watch check c run"))}
)
_STARTS: Final[Mapping[str, Callable[[Script, Seals, Opener], Words]]] = MappingProxyType(
    {
        **dict.fromkeys(each("python pythonw pypy"), _python),
        **dict.fromkeys(each("sh dash ash posh yash mksh"), _sourced),
        **dict.fromkeys(each("bash rbash"), _bash),
        **dict.fromkeys(each("zsh ksh"), _evaluated),
        **dict.fromkeys(each("node nodejs"), _node),
        **dict.fromkeys(each("perl raku ruby jruby deno bun tsx ts-node php php-cli lua luajit"), _other),
        **dict.fromkeys(
            each("fish csh tcsh osascript tclsh expect Rscript julia elixir groovy pwsh powershell"), _other
        ),
    }
)


STARTED: Final = frozenset(_STARTS)
"""Programs whose first argument is a script."""


def interpreter_line(content: bytes) -> tuple[str, ...]:
    """Read the `#!` line of a script: its interpreter and its words; `env NAME` is NAME, to be found on PATH."""
    if not content.startswith(b"#!"):
        return ()
    line = content[2:].partition(b"\n")[0].decode("utf-8", "surrogateescape").strip()
    # the system gives an interpreter one argument at most, blanks and all
    words = tuple(line.split(maxsplit=1))
    if len(words) == 1 or stem(words[0]) != "env":
        return words
    asked = words[1].removeprefix("-S").split()
    return tuple(asked) if asked and "=" not in asked[0] and not asked[0].startswith("-") else (words[0], *asked)
