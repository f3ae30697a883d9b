"""Rows of the table of programs: git, its front ends, and other version control systems.

What git does inside `.git` is its own bookkeeping and no write. What it may start (hooks, pagers, helpers) is the user's
own configuration; only options and variables that name a program on the command line leave `runs` open.
"""

from typing import Final

from hookline.shell.program import Program, row

# one row per program, options on a line of their own where they are many
# fmt: off

_DIFF: Final = (
    " -p,-u,--patch -s,--no-patch -U,--unified= --stat[=] --shortstat --numstat --name-only --name-status --raw --summary"
    " --word-diff[=] --color[=] --no-color --color-words[=] -w,--ignore-all-space -b,--ignore-space-change"
    " --ignore-blank-lines -M,--find-renames[=] -C,--find-copies[=] --diff-filter= -S= -G= --cached --staged --check --exit-code"
    " -q,--quiet --no-index --minimal --patience --histogram --diff-algorithm= --relative[=] -R --full-index --binary"
    " --ext-diff --no-ext-diff --textconv --no-textconv --output=writes -z -a,--text --merge-base -W,--function-context"
)
_LOG: Final = (
    " -n,--max-count= --skip= --since= --after= --until= --before= --author= --committer= --grep= -i --all --branches[=]"
    " --tags[=] --remotes[=] --oneline --graph --decorate[=] --no-decorate --format= --pretty[=] --abbrev-commit --merges"
    " --no-merges --first-parent --reverse --follow --date= -L= --show-signature --left-right --cherry-pick -g,--walk-reflogs"
    " --topo-order --no-walk[=] --ancestry-path[=] --simplify-by-decoration --relative-date -1 -2 -3 -4 -5"
)
_MERGE: Final = (
    " --ff --no-ff --ff-only --squash --no-squash --commit --no-commit -e,--edit --no-edit -m,--message= -F,--file=reads"
    " -s,--strategy= -X,--strategy-option= --abort --continue --quit -S,--gpg-sign[=] --stat -n,--no-stat -q,--quiet"
    " -v,--verbose --allow-unrelated-histories --no-verify --autostash --no-autostash --signoff"
)
_FETCH: Final = (
    " --all -a,--append --depth= --deepen= --unshallow --dry-run -f,--force -p,--prune --prune-tags -t,--tags -n,--no-tags"
    " -j,--jobs= -q,--quiet -v,--verbose --progress --recurse-submodules[=] --upload-pack=shell --refmap= --set-upstream"
)

_GIT: Final = row("git hub", "",
    "-C=folder -c= --git-dir= --work-tree= --namespace= --exec-path[=] --no-pager -p,--paginate -P --bare"
    " --no-replace-objects --literal-pathspecs --no-optional-locks --version --help -h -v --html-path --config-env=",
    unknown="any", evaluates="-c --exec-path --config-env", style="git",
    subcommands=(
        row("status", "revision*",
            "-s,--short -b,--branch --porcelain[=] --long -v,--verbose -u,--untracked-files[=] --ignored[=] -z --show-stash --ahead-behind"),
        row("log show", "revision*", _LOG + _DIFF),
        row("diff", "revision*", _DIFF),
        row("diff-tree diff-index diff-files whatchanged range-diff", "revision*",
            _LOG + _DIFF + " -r -t --root --no-commit-id"),
        row("blame annotate", "revision*",
            "-L= -C -M -w -e -s -f -n -p,--porcelain --line-porcelain --since= --date= --ignore-rev= --ignore-revs-file=reads"),
        row("grep", "plain revision*",
            "-i -n -l -L -c -w -E -F -P -v -h -H -q -o --cached --untracked --no-index -e= -A= -B= -C= -f=reads --break --heading -O,--open-files-in-pager[=]shell --max-depth=",
            scripted="-e -f"),
        row("ls-files ls-tree", "plain*",
            "-c -d -m -o -i -s -u -t -v -z -r --full-name --exclude-standard --name-only --error-unmatch --others --cached --modified --deleted --stage -x,--exclude= --abbrev[=]"),
        row("cat-file", "revision*", "-t -s -e -p --batch[=] --batch-check[=]"),
        row("rev-parse rev-list merge-base describe name-rev shortlog show-ref show-branch for-each-ref cherry count-objects var version help check-ignore check-attr check-ref-format verify-commit verify-tag whatis fsck annotate diagnose", "plain*",
            _LOG
            + " -q --verify --abbrev-ref[=] --show-toplevel --git-dir --is-inside-work-tree --short[=] --count --tags --always --dirty[=] --long --match= --contains[=] --is-ancestor -s -e --heads --sort= -v -z --no-index --stdin --absolute-git-dir --show-prefix --show-cdup --git-path= --left-right -h --merge --full"),
        row("ls-remote", "plain*",
            "-h,--heads -t,--tags --refs -q --get-url --exit-code --symref --upload-pack=shell", unknown="urls"),
        row("branch", "plain*",
            "-a,--all -r,--remotes -v,--verbose -vv --list -d,--delete -D -m,--move -M -c,--copy -C -f,--force -u,--set-upstream-to= --unset-upstream -t,--track[=] --no-track --contains[=] --merged[=] --no-merged[=] --sort= --format= --show-current --points-at= --column[=] --edit-description -q,--quiet --color[=] --no-color"),
        row("tag", "plain*",
            "-a,--annotate -s,--sign -m,--message= -F,--file=reads -d,--delete -f,--force -l,--list -n[=] -v,--verify --sort= --format= --contains[=] --points-at= --merged[=] -u,--local-user= --no-sign -e,--edit"),
        row("remote", "plain*",
            "-v,--verbose -t= -m= -f --tags --no-tags --mirror[=] --push --add --delete --all -n,--dry-run",
            unknown=""),
        row("config", "plain*",
            "--global --system --local --worktree -f,--file=writes --get --get-all --get-regexp --get-urlmatch --add --unset --unset-all --replace-all --remove-section --rename-section -l,--list -e,--edit --show-origin --show-scope --type= --bool --int --path -z,--null --name-only --default= --includes --fixed-value",
            style="git-config"),
        row("reflog", "plain*", _LOG + " --expire= --expire-unreachable= --rewrite --updateref --stale-fix --dry-run"),
        row("stash", "plain checkout*",
            "-p,--patch -k,--keep-index --no-keep-index -q,--quiet -u,--include-untracked -a,--all -m,--message= --index -S,--staged"
            + _DIFF, unknown="writes deletes"),
        row("worktree", "plain writes*",
            "-f,--force -b= -B= -d,--detach --checkout --no-checkout --lock --track --porcelain -n,--dry-run -v --reason= --expire= -q --orphan",
            style="worktree"),
        row("bisect", "plain*", "--term-old= --term-new= --no-checkout --first-parent", unknown="writes",
            evaluates="*"),
        row("notes replace", "plain*", "-m= -F=reads -f,--force --ref= -d"),
        row("add stage", "reads*",
            "-n,--dry-run -v,--verbose -f,--force -i,--interactive -p,--patch -e,--edit -u,--update -A,--all,--no-ignore-removal -N,--intent-to-add --refresh --ignore-errors --ignore-missing --renormalize --chmod= --pathspec-from-file=reads --sparse",
            unknown="reads"),
        row("commit", "revision*",
            "-a,--all -p,--patch -C,--reuse-message= -c,--reedit-message= --fixup= --squash= --reset-author --short --branch --porcelain -z -F,--file=reads --author= --date= -m,--message= -t,--template=reads -s,--signoff --no-signoff --trailer= -n,--no-verify --verify --allow-empty --allow-empty-message --cleanup= -e,--edit --no-edit --amend --no-post-rewrite -i,--include -o,--only -u,--untracked-files[=] -v,--verbose -q,--quiet --dry-run -S,--gpg-sign[=] --no-gpg-sign --pathspec-from-file=reads"),
        row("push", "plain*",
            "-v,--verbose -q,--quiet --repo= --all --branches --mirror -d,--delete --tags --follow-tags --no-follow-tags -n,--dry-run --porcelain -f,--force --force-with-lease[=] --no-force-with-lease --force-if-includes --no-force-if-includes --recurse-submodules= --thin --no-thin --receive-pack=shell --exec=shell -u,--set-upstream --progress --prune --no-verify --verify --signed[=] --no-signed --atomic --no-atomic -o,--push-option= -4,--ipv4 -6,--ipv6",
            unknown="urls"),
        row("fetch", "plain*", _FETCH, unknown="urls"),
        row("pull", "plain*", _FETCH + _MERGE + " -r,--rebase[=] --no-rebase", unknown="urls writes"),
        row("merge", "plain*", _MERGE, unknown="writes"),
        row("rebase", "plain*",
            "-i,--interactive --onto= --root --continue --abort --skip --quit --edit-todo --autostash --no-autostash --autosquash --no-autosquash -x,--exec=shell -f,--force-rebase,--no-ff -m,--merge -s,--strategy= -X,--strategy-option= -q,--quiet -v,--verbose --no-verify --keep-base --update-refs -S,--gpg-sign[=] --rebase-merges[=] --committer-date-is-author-date --signoff",
            unknown="writes"),
        row("cherry-pick revert", "plain*",
            "-e,--edit --no-edit -n,--no-commit -m,--mainline= -x -s,--signoff --continue --abort --skip --quit -S,--gpg-sign[=] --allow-empty --strategy= -X,--strategy-option= --ff --keep-redundant-commits",
            unknown="writes"),
        row("reset", "revision*",
            "--soft --mixed --hard --merge --keep -q,--quiet -p,--patch -N,--intent-to-add --no-refresh --pathspec-from-file=reads",
            unknown="writes"),
        row("checkout", "checkout*",
            "-b= -B= -f,--force -d,--detach -t,--track[=] --no-track --orphan= -q,--quiet --ours --theirs -m,--merge --conflict= -p,--patch --progress --ignore-skip-worktree-bits --recurse-submodules[=] -l --guess --no-guess --pathspec-from-file=reads",
            unknown="writes"),
        row("switch", "plain*",
            "-c,--create= -C,--force-create= -d,--detach -f,--force --discard-changes -m,--merge --orphan= -t,--track[=] --no-track -q,--quiet --guess --no-guess",
            unknown="writes"),
        row("restore", "writes*",
            "-s,--source= -S,--staged -W,--worktree -p,--patch -q,--quiet --ours --theirs -m,--merge --ignore-unmerged --overlay --no-overlay --pathspec-from-file=reads",
            unknown="writes", style="git-restore"),
        row("clean", "deletes*", "-d -f,--force -i,--interactive -n,--dry-run -q,--quiet -e,--exclude= -x -X",
            unknown="deletes writes", recursive="always"),
        row("rm", "deletes*",
            "-f,--force -n,--dry-run -r --cached --ignore-unmatch -q,--quiet --sparse --pathspec-from-file=reads",
            recursive="-r", instead={"--cached --dry-run": ""}),
        row("mv", "moves* into", "-f,--force -k -n,--dry-run -v,--verbose", recursive="always"),
        row("init", "writes",
            "-q,--quiet --bare --template= -b,--initial-branch= --shared[=] --separate-git-dir= --object-format="),
        row("clone", "clones writes",
            "-l,--local --no-hardlinks -s,--shared --reference= -q,--quiet -v,--verbose --progress -n,--no-checkout --bare --mirror -o,--origin= -b,--branch= -u,--upload-pack=shell --template= --depth= --shallow-since= --single-branch --no-single-branch --no-tags --recurse-submodules[=] --recursive --shallow-submodules --filter= --sparse -j,--jobs= -c,--config= --separate-git-dir=writes --also-filter-submodules",
            unknown="urls"),
        row("apply", "reads*",
            "-p= -R,--reverse --check --stat --numstat --summary --index --cached -3,--3way -v,--verbose --reject --unidiff-zero --whitespace= --exclude= --include= --directory= --allow-empty -C= --recount",
            unknown="writes deletes", instead={"--check --stat --numstat --summary --cached": "reads*"}, style="git-apply"),
        row("am", "reads*",
            "-s,--signoff -3,--3way -k -p= --abort --continue --skip --quit -q --keep-cr --whitespace= --directory= --reject",
            unknown="writes deletes"),
        row("format-patch", "plain*",
            _LOG + _DIFF + " -o,--output-directory=writes --stdout --cover-letter -v= --subject-prefix= -k",
            unknown="writes"),
        row("archive", "plain reads*",
            "-o,--output=writes --format= --prefix= --exec=shell --remote= -v -l --worktree-attributes --add-file=reads"),
        row("bundle", "plain writes plain*", "-q --all"),
        row("submodule", "plain*",
            "-q,--quiet --init --recursive --remote --force -f -b= --depth= --name= --reference= -j,--jobs= --all --cached --merge --rebase --checkout --progress",
            unknown="writes urls", evaluates="*"),
        row("gc prune repack pack-refs maintenance update-server-info multi-pack-index pack-objects", "plain*",
            "-q,--quiet --aggressive --auto --prune[=] --force -a -d -A -f -l -n,--dry-run -v,--verbose --expire= --task= --no-prune"),
        row("hash-object", "reads*", "-w --stdin -t= --path= --no-filters"),
        row("update-index update-ref symbolic-ref read-tree write-tree commit-tree mktag mktree rerere sparse-checkout", "plain*",
            "--assume-unchanged --no-assume-unchanged --skip-worktree --no-skip-worktree -d -m= -p= -w --stdin --chmod= --refresh --add --remove --cacheinfo="),
        row("filter-branch filter-repo", "plain*",
            "-f,--force --tree-filter=shell --index-filter=shell --msg-filter=shell --env-filter=shell --commit-filter=shell --tag-name-filter=shell --prune-empty --all --path= --invert-paths --subdirectory-filter=",
            unknown="writes deletes"),
        row("lfs annex flow", "plain*", unknown="writes urls"),
        row("daemon http-backend send-email svn p4 instaweb request-pull imap-send difftool mergetool gui citool", "plain*",
            unknown="any", guarded=True),
        row("credential credential-store credential-cache", "plain*", unknown="reads writes"),
    ))

_GH_COMMON: Final = "-R,--repo= --json= -q,--jq= -t,--template= -w,--web --hostname= -L,--limit= -s,--state= -l,--label= -a,--assignee= -b,--body= -F,--body-file=reads --title= -B,--base= -H,--head= -d,--draft -m,--milestone= -f,--fill -r,--reviewer= -p,--project= -A,--author= -S,--search= -y,--yes -c,--comments -n,--notes= "
_GH: Final = row("gh glab", "plain*", _GH_COMMON, unknown="urls", subcommands=(
        row("pr mr", "plain*",
            _GH_COMMON
            + "--merge --squash --rebase -d,--delete-branch --auto --admin --approve --request-changes --comment --body= --delete-last --name-only --patch --watch --required --interval= --fail-fast --undo --match-head-commit=",
            unknown="urls", style="2"),
        row("issue label milestone project ruleset cache org", "plain*",
            _GH_COMMON + " --body= -e,--env= -o,--org= --reason= --comment=", unknown="urls", style="2"),
        row("repo", "plain*",
            _GH_COMMON
            + "--public --private --internal --clone --source= --remote= --push --confirm --visibility= --accept-visibility-change-consequences --enable-issues[=] --default-branch= --description=",
            unknown="urls writes", style="2"),
        row("release", "plain plain reads*",
            _GH_COMMON
            + " --notes= --notes-file=reads --generate-notes --prerelease --target= --latest[=] --cleanup-tag --verify-tag --pattern= -D,--dir=writes --clobber --skip-existing",
            unknown="urls writes", style="2"),
        row("run workflow", "plain*",
            _GH_COMMON
            + "--log --log-failed --exit-status --ref= -f,--raw-field= -F,--field= -D,--dir=writes --name= --job= -v,--verbose -i,--interval= --failed --attempt=",
            unknown="urls", style="2"),
        row("secret variable", "plain*",
            "-f,--env-file=reads -b,--body= -e,--env= -o,--org= -R,--repo= -a,--app= -v= -u", unknown="urls",
            style="2"),
        row("gist", "plain reads*", _GH_COMMON + "--public -f,--filename= --desc= -d=", unknown="urls", style="2"),
        row("api", "plain*",
            "-X,--method= -f,--raw-field= -F,--field= -H,--header= --input=reads --paginate -q,--jq= -t,--template= -i,--include --silent --slurp --cache= -p,--preview= --hostname= --verbose",
            unknown="urls", style="gh-api"),
        row("auth", "plain*", "-h,--hostname= -p,--git-protocol= -s,--scopes= -w,--web --with-token -t,--show-token",
            unknown="urls", style="2"),
        row("browse status search config", "plain*", _GH_COMMON, unknown="urls", style="2"),
        row("extension alias codespace copilot attestation", "plain*", unknown="any"),
    ))

GIT: Final[tuple[Program, ...]] = (
    _GIT,
    _GH,
    row("hg svn bzr jj sl fossil p4 darcs", "plain*", "-m= -R= -r= -b=", unknown="any"),
    row("pre-commit lefthook husky lint-staged commitlint overcommit", "plain*",
        "-a,--all-files --hook-stage= --files -v", unknown="any"),
)
