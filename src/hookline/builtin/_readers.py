"""Programs that only read in a project that is known, beside those that do so anywhere. Tables only.

What is not written down here is not known to be harmless: another program, another option, a shortened one. An option
whose value is a file is left out on purpose, so that values need not be looked at.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.core.effects.readers import Reader, each

# they run whatever they are given, and may be asked for nothing but their version, which has a short option with some
VERSIONED: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(each("bash gcc g++ clang cmake make perl ruby java"), "--version"),
        "python": "-V",
        "python3": "-V",
        "node": "-v",
    }
)
# the shell itself does these, so that no file of that name is ever run
OF_THE_SHELL: Final = each("cd echo printf pwd test [ true false : type command")

FD: Final = Reader(
    flags="HIuasgFp0i",
    values="dteEScj",
    texts=1,
    shows=False,
    long=each(
        "hidden no-ignore unrestricted case-sensitive ignore-case glob fixed-strings absolute-path"
        " full-path print0 color"
    ),
    long_values=each("max-depth min-depth type extension exclude size changed-within changed-before max-results"),
)

# a filter of jq can show the environment, and load other files; nothing else it knows leaves its input
JQ: Final = Reader(
    flags="rjacCsnMeS",
    texts=1,
    long=each(
        "raw-output join-output compact-output color-output monochrome-output slurp null-input sort-keys exit-status"
        " tab raw-input ascii-output"
    ),
    long_values=each("indent"),
)

_GIT_DIFF: Final = (
    "stat shortstat numstat dirstat summary name-only name-status patch no-patch unified raw color no-color color-words"
    " word-diff minimal patience histogram ignore-all-space ignore-space-change ignore-blank-lines check full-index"
    " binary abbrev find-renames find-copies no-renames cached staged merge-base exit-code quiet no-ext-diff"
    " function-context text relative no-relative diff-filter inter-hunk-context no-textconv compact-summary"
)
_GIT_LOG: Final = (
    f"{_GIT_DIFF} oneline graph decorate no-decorate all branches tags remotes abbrev-commit no-abbrev-commit merges"
    " no-merges first-parent reverse follow format pretty date author committer grep since after until before"
    " max-count skip topo-order date-order author-date-order left-right cherry-pick cherry-mark boundary"
    " simplify-by-decoration regexp-ignore-case ignore-case invert-grep all-match walk-reflogs no-walk full-history"
    " ancestry-path parents children no-notes relative-date cc"
)
_GIT_SHOW: Final = Reader(flags="psuwbRzacM", values="SGn", glued="U", numbers=True, long=each(_GIT_LOG))
_GIT_LIST: Final = (
    "sort format contains no-contains merged no-merged points-at color no-color column no-column ignore-case omit-empty"
)
# Only what git itself knows: an alias cannot hide any of these. Keys are one or two words.
GIT: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "status": Reader(
            flags="sbvzuno",
            long=each(
                "short branch show-stash porcelain long verbose untracked-files ignored ahead-behind renames column"
            ),
        ),
        "log": Reader(flags="psuwbzcgimRM", values="SGn", glued="U", numbers=True, long=each(_GIT_LOG)),
        "show": _GIT_SHOW,
        "diff": Reader(flags="psuwbRzaM", values="SG", glued="U", long=each(_GIT_DIFF)),
        "diff-tree": Reader(
            flags="prtszumc", values="SG", glued="U", long=each(f"{_GIT_DIFF} root no-commit-id pretty format")
        ),
        "branch": Reader(
            flags="arvi", most=0, long=each(f"all remotes show-current verbose abbrev no-abbrev {_GIT_LIST}")
        ),
        "tag": Reader(flags="ni", most=0, long=each(_GIT_LIST)),
        "remote": Reader(flags="v", most=0, long=each("verbose")),
        "remote get-url": Reader(most=1, long=each("all push")),
        "rev-parse": Reader(
            long=each(
                "abbrev-ref short verify show-toplevel show-prefix show-cdup git-dir git-common-dir is-inside-work-tree"
                " is-inside-git-dir is-bare-repository symbolic-full-name absolute-git-dir show-superproject-working-tree"
            ),
            flags="q",
        ),
        "rev-list": Reader(flags="", values="n", numbers=True, long=each(f"{_GIT_LOG} count objects")),
        "ls-files": Reader(
            flags="cdmosktvzu",
            long=each(
                "cached deleted modified others ignored stage unmerged killed exclude-standard full-name error-unmatch"
                " directory abbrev recurse-submodules"
            ),
        ),
        "ls-tree": Reader(flags="drtlz", long=each("name-only name-status long full-name full-tree abbrev")),
        "cat-file": Reader(flags="ptse"),
        "blame": Reader(flags="bcefklnpstwMC", values="L", long=each("porcelain line-porcelain show-email date root")),
        "shortlog": Reader(flags="nsec", long=each("numbered summary email group since until no-merges all")),
        "describe": Reader(long=each("all tags contains abbrev always dirty long exact-match first-parent match")),
        "merge-base": Reader(flags="a", long=each("all octopus is-ancestor fork-point")),
        "name-rev": Reader(long=each("name-only tags refs always")),
        "for-each-ref": Reader(long=each(f"count {_GIT_LIST}")),
        "count-objects": Reader(flags="vH", most=0, long=each("verbose human-readable")),
        "reflog": Reader(most=0),
        "reflog show": Reader(flags="", values="n", numbers=True, long=each(_GIT_LOG)),
        "stash list": Reader(most=0, numbers=True, long=each("oneline format pretty date stat")),
        "stash show": Reader(flags="p", long=each(_GIT_DIFF)),
        "worktree list": Reader(flags="v", most=0, long=each("porcelain verbose")),
        "grep": Reader(
            flags="nilLcwvEFGPhHpWqaIzo",
            values="eABCm",
            numbers=True,
            texts=1,
            long=each(
                "line-number ignore-case name-only files-with-matches files-without-match count word-regexp cached"
                " heading break color no-color show-function function-context fixed-strings extended-regexp"
                " perl-regexp quiet only-matching and or not all-match max-depth"
            ),
        ),
    }
)
# what may stand between git and its subcommand
GIT_FLAGS: Final = each("--no-pager -P --no-optional-locks --literal-pathspecs")
# they look into repositories inside of the repository
GIT_LOOKING_INSIDE: Final = each("status diff describe ls-files grep")
# with which nothing is made of the names that follow; old versions of git branch take -l for something else
GIT_LISTS: Final[Mapping[str, frozenset[str]]] = MappingProxyType({"branch": each("--list"), "tag": each("--list -l")})
