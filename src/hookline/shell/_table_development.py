"""Rows of the table of programs for developers: version control, packages, builds, tests, containers, clouds, databases.

What git does inside `.git` is its own bookkeeping and no write. What it may start (hooks, pagers, helpers) is the user's
own configuration; only options and variables that name a program on the command line leave `runs` open.
"""

from typing import Final

from hookline.shell.program import Program, row

# one row per program, options on a line of their own where they are many
# fmt: off

# git, its front ends, and other version control systems

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
            unknown="writes", instead={"--worktree": "writes*", "--staged": ""}),
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


# package managers, build tools, test runners, compilers, linters, interpreters

_NPM: Final = (
    "-g,--global -D,--save-dev -E,--save-exact -S,--save -P,--production -O --save-optional --no-save -w,--workspace= -W"
    " --workspaces -ws --include-workspace-root --prefix= -C=folder --registry= --tag= --access= --otp= --dry-run -f,--force"
    " --legacy-peer-deps --ignore-scripts -s,--silent -q,--quiet -d --json -l,--long -a,--all --depth= -y,--yes --loglevel="
    " --userconfig= --cache= --omit= --include= --only= --if-present --frozen-lockfile --prefer-offline --offline --no-audit"
    " --no-fund --audit-level= --filter= -F= -r,--recursive --parallel --stream --cwd=folder --verbose --production"
    " --package-lock-only --no-package-lock --message= -m= --no-git-tag-version --preid= --immutable --mode= --no-lockfile"
    " --ignore-workspace-root-check --latest -L -i,--interactive --watch --hot --bun -p,--parseable --provenance --shamefully-hoist"
)
_PIP: Final = (
    "-r,--requirement=reads -c,--constraint=reads -e,--editable= -t,--target=writes --prefix=writes --root=writes -U,--upgrade --user"
    " --force-reinstall -I,--ignore-installed --no-deps --pre -i,--index-url= --extra-index-url= --no-index -f,--find-links="
    " --no-cache-dir --cache-dir= -q,--quiet -v,--verbose --disable-pip-version-check --break-system-packages --dry-run"
    " --no-build-isolation --only-binary= --no-binary= --python= -p= --python-version= --platform= --report=writes -y,--yes"
    " --format= -o,--outdated --outdated -u,--uptodate --not-required -l,--local --path= --exclude= --no-input --proxy="
    " --timeout= --retries= --trusted-host= --use-pep517 --progress-bar= --config-settings= -d,--dest=writes -w,--wheel-dir=writes"
    " --system --all --freeze -h,--help -V,--version"
)
_PIP_SUBS: Final = (
    row("install add sync update upgrade", "plain*", _PIP, unknown="any", guarded=True),
    row("uninstall remove", "plain*", _PIP, unknown="writes deletes"),
    row("list freeze show check inspect debug help tree search index hash completion", "plain*", _PIP, unknown="urls"),
    row("download wheel compile", "plain*", _PIP + " --output-file=writes", unknown="any", guarded=True),
    row("config cache", "plain*", _PIP + " --global --user --site", unknown="writes"),
)
_UV: Final = "-q,--quiet -v,--verbose --offline --no-progress --directory=folder --project= --config-file=reads --no-config --color= -p,--python= --no-cache -n --cache-dir= --native-tls --allow-insecure-host= "
_UV_RUN: Final = (
    _UV
    + "--with= --with-requirements=reads --with-editable= --extra= --all-extras --group= --only-group= --no-dev --dev --frozen --locked --isolated --no-project --no-sync --env-file=reads --package= --all-packages -s,--script -m,--module= --refresh --from= -U,--upgrade --active --exact --index= --default-index= --no-env-file --reinstall"
)

_NPM_SUBS: Final = (
    row("run run-script rum urn", "plain*", _NPM, unknown="any", evaluates="1"),
    row("test t tst start stop restart build dev lint format typecheck serve preview", "plain*", _NPM, unknown="any"),
    row("install i in add ci clean-install update up upgrade dedupe link ln rebuild import fetch", "plain*", _NPM,
        unknown="any"),
    row("uninstall remove rm r un unlink prune", "plain*", _NPM, unknown="writes deletes runs"),
    row("publish unpublish deprecate dist-tag owner access token login logout adduser", "plain*", _NPM,
        unknown="urls runs"),
    row("pack version", "plain*", _NPM + " --pack-destination=writes", unknown="writes runs"),
    row("ls list ll la view info show v outdated why explain root bin prefix help search ping whoami audit doctor licenses fund query config c get set", "plain*",
        _NPM + " --fix", unknown="urls"),
    row("init create innit", "plain*", _NPM, unknown="any"),
    row("exec x", "", _NPM + " -p,--package= -c,--call=shell", wraps="words", unknown="any"),
    row("dlx", "", _NPM + " -p,--package= -c,--shell-mode", wraps="words", unknown="any"),
    row("cache store", "plain*", _NPM, unknown="writes"),
    row("workspace", "plain", _NPM, wraps="words", unknown="any", acts_as="yarn"),
    row("workspaces foreach", "plain*", _NPM, unknown="any"),
)

BUILD: Final[tuple[Program, ...]] = (
    row("npm", "plain*", _NPM, unknown="any", style="scripts",
        same={
            **dict.fromkeys(["i", "in", "ins", "inst", "insta", "instal", "isntall", "add"], "install"),
            **dict.fromkeys(["un", "unlink", "remove", "rm", "r"], "uninstall"),
            **dict.fromkeys(["up", "upgrade", "udpate"], "update"), **dict.fromkeys(["t", "tst"], "test"),
            **dict.fromkeys(["run-script", "rum", "urn"], "run"), **dict.fromkeys(["info", "show", "v"], "view"),
            **dict.fromkeys(["clean-install", "ic", "install-clean"], "ci"), "ls": "list", "x": "exec", "ln": "link",
            **dict.fromkeys(["create", "innit"], "init"), **dict.fromkeys(["adduser", "add-user"], "login"),
            # a command may be shortened where it is clear
            **dict.fromkeys(["pub", "publ", "publi", "publis"], "publish"),
        },
        subcommands=_NPM_SUBS),
    row("pnpm yarn bun", "plain*", _NPM, unknown="any", style="scripts",
        same={"pm publish": "publish", "i": "install", "a": "add", "rm": "remove", "up": "update", "x": "exec", "t": "test"},
        subcommands=(*_NPM_SUBS, row("npm", "", _NPM, wraps="words", unknown="any", acts_as="npm"))),
    row("npx pnpx bunx", "", _NPM + " -p,--package= -c,--call=shell --no-install --ignore-existing", wraps="words",
        unknown="any"),
    row("deno", "plain*",
        "-A,--allow-all --allow-read[=] --allow-write[=] --allow-net[=] --allow-run[=] --allow-env[=] -q -c,--config=reads --watch[=] --no-check[=]",
        unknown="any", subcommands=(
            row("run", "script plain*",
                "-A,--allow-all --allow-read[=] --allow-write[=] --allow-net[=] --allow-run[=] --allow-env[=] -q",
                unknown="any"),
            row("eval", "code", "-p -T", unknown="any"),
            row("fmt", "writes*", "--check", unknown="writes"),
            row("lint check test task bench compile cache info", "plain*", unknown="any"),
        )),
    row("node nodejs ts-node tsx", "script plain*",
        "-e,--eval=code -p,--print=code -pe,-ep=code -C,--conditions= --title= --disable-proto= --disable-warning= --dns-result-order= --icu-data-dir= --inspect-port= --max-http-header-size= --redirect-warnings= --unhandled-rejections= --diagnostic-dir= --report-dir,--report-directory= --report-filename= --report-signal= --secure-heap= --secure-heap-min= --tls-cipher-list= --tls-keylog= --trace-event-categories= --trace-event-file-pattern= --use-largepages= --cpu-prof-dir= --cpu-prof-name= --cpu-prof-interval= --heap-prof-dir= --heap-prof-name= --heap-prof-interval= --heapsnapshot-signal= --heapsnapshot-near-heap-limit= --network-family-autoselection-attempt-timeout= --allow-fs-read= --allow-fs-write= --experimental-default-type= --experimental-loader=script --openssl-config=script -c,--check -i,--interactive -r,--require=script --import=script --loader=script --input-type= --inspect[=] --inspect-brk[=] --max-old-space-size[=] --env-file,--env-file-if-exists=reads --experimental-vm-modules --no-warnings --test --watch --enable-source-maps -v,--version -h,--help --stack-trace-limit[=] -T -P=",
        unknown="any", interpreter=True, open_options=True),
    row("nvm fnm volta n corepack nodenv pyenv rbenv goenv sdk rustup", "plain*", "", unknown="any"),
    # Python
    row("python python3 pypy pypy3 py pythonw jython", "script plain*",
        "-c=code -m=module -W= -X= -Q= --check-hash-based-pycs= -B -b -d -E -i -I -O -OO -q -s -S -u -v -V,--version -x -P -h,--help",
        unknown="any", interpreter=True),
    row("ipython jupyter jupyter-lab jupyter-notebook papermill", "script plain*", "-c=code -m=", unknown="any",
        interpreter=True),
    row("pip pip3 pipenv.pip", "plain*", _PIP, unknown="any", subcommands=_PIP_SUBS),
    row("uv", "plain*", _UV, unknown="any", subcommands=(
            row("run", "", _UV_RUN, wraps="words", unknown="any"),
            row("pip", "plain*", _PIP + " " + _UV, unknown="any", subcommands=_PIP_SUBS),
            row("tool", "plain*", _UV_RUN, unknown="any", subcommands=(
                    row("run", "", _UV_RUN, wraps="words", unknown="any"),
                    row("install upgrade uninstall list dir update-shell", "plain*", _UV_RUN, unknown="any"),
                )),
            row("sync add remove lock init python venv self", "plain*",
                _UV_RUN
                + " --dev --optional= --raw --bounds= --seed --clear --allow-existing --check -r,--requirements=reads",
                unknown="writes deletes reads urls"),
            row("tree export version help cache", "plain*",
                _UV_RUN + " -o,--output-file=writes --format= --depth= --outdated", unknown="urls"),
            row("publish", "reads*", _UV + "-t,--token= -u,--username= --publish-url= --index= --dry-run",
                unknown="urls"),
            row("build", "plain*", _UV + "-o,--out-dir=writes --sdist --wheel --package= --clear", unknown="any"),
        )),
    row("uvx", "", _UV_RUN, wraps="words", unknown="any"),
    row("poetry pdm hatch rye pipenv flit pixi conda mamba micromamba", "plain*",
        "-C,--directory=folder -P,--project= -n,--no-interaction -q -v -vv -e= -p= -E= --extras= --with= --without= --only= --group= -G= --dry-run --name= -y --all-extras --no-root --sync --dev -D -c=",
        unknown="any", subcommands=(
            row("run", "", "-n= --name= -p= --no-capture-output --cwd=folder -e= --live-stream", wraps="words",
                unknown="any"),
            row("shell install add remove update lock build init new self env config cache source sync create activate", "plain*",
                "-n= -y -f=reads -c= -r= --file=reads -D --dev -G,--group= --no-root --with= --without= --extras= -E= --all-extras --dry-run --name= --prefix= --optional --editable -e",
                unknown="any"),
            row("publish", "plain*",
                "-r,--repository= -u,--username= -p,--password= --build --dry-run --skip-existing -n",
                unknown="urls runs"),
            row("show check list info version search export", "plain*",
                "-t,--tree -l,--latest -o,--output=writes -f,--format= --without-hashes --with=", unknown="urls"),
        )),
    row("pipx", "plain*", "-q -v", unknown="any", subcommands=(
            row("run", "", "--spec= --pip-args= --python= --no-cache --verbose --index-url= -q", wraps="words",
                unknown="any"),
            row("install inject upgrade upgrade-all uninstall reinstall ensurepath list environment", "plain*",
                "--python= --force -f --spec= --pip-args= --include-deps", unknown="any"),
        )),
    row("twine", "plain reads*",
        "-r,--repository= --repository-url= -u,--username= -p,--password= --skip-existing --non-interactive --config-file=reads -s",
        unknown="urls"),
    row("virtualenv venv", "writes", "-p,--python= --system-site-packages --clear", unknown="reads urls runs"),
    row("pytest py.test", "plain*",
        "-q,--quiet -v,--verbose -vv -x,--exitfirst -s -k= -m= -n= -p= -c=reads -o= -r= -l,--showlocals --tb= --lf,--last-failed --ff,--failed-first --maxfail= --cov[=] --cov-report= --cov-config=reads --junitxml=writes --durations= --timeout= --rootdir= --collect-only,--co --pdb --no-header --color= --ignore= --deselect= --sw --stepwise -W= --import-mode= --basetemp=writes --no-cov --reruns= --capture= --log-level= --log-cli-level= --snapshot-update --benchmark-only",
        unknown="any"),
    row("tox nox invoke inv fab doit", "plain*", "-e= -s,--session= -f,--file= -r -p= -q -v -l -c= -n= -k=",
        unknown="any"),
    row("coverage", "plain*",
        "-m= --source= --branch -a --append --rcfile=reads --omit= --include= --fail-under= -d= -o=writes -i --data-file= --show-missing",
        unknown="any"),
    row("unittest doctest trial nose2 behave robot locust playwright cypress", "plain*", unknown="any"),
    row("django-admin flask uvicorn gunicorn hypercorn celery alembic streamlit dbt airflow scrapy", "plain*",
        "--host= -h= --port= -p= -b= -w= -k= --reload --workers= -A= -c=", unknown="any"),
    # JavaScript tools
    row("jest vitest mocha ava tap karma jasmine c8 nyc wtr", "plain*",
        "-t,--testNamePattern= -u,--updateSnapshot --watch --watchAll[=] --coverage[=] --ci -i,--runInBand --silent --verbose -c,--config=reads --reporter= --run --maxWorkers= -w= --testPathPattern= --bail[=] --no-coverage -g= --grep=",
        unknown="any"),
    row("tsc vue-tsc", "plain*",
        "--noEmit -p,--project=reads -b,--build -w,--watch --outDir=writes --skipLibCheck --pretty[=] --strict --version -v --init --listFiles --declaration --target= --module= --jsx= --incremental",
        unknown="writes reads"),
    row("webpack vite rollup esbuild parcel next nuxt astro remix ng nx turbo lerna rush gulp grunt storybook tsup swc babel expo react-scripts svelte-kit wrangler vercel netlify firebase serverless sst prisma drizzle-kit", "plain*",
        "-c,--config=reads --mode= -p= --port= --host[=] --filter= --watch --outdir= -y --prod --dev --open -d",
        unknown="any"),
    row("eslint tslint oxlint xo standard stylelint markdownlint markdownlint-cli2", "reads*",
        "--fix --fix-dry-run --ext= -c,--config=reads --max-warnings= -f,--format= --quiet --cache --cache-location= --no-eslintrc --ignore-path=reads --rule= -o,--output-file=writes --report-unused-disable-directives --no-warn-ignored --no-error-on-unmatched-pattern",
        in_place="--fix", unknown="runs reads writes"),
    row("prettier biome dprint", "reads*",
        "-w,--write -c,--check -l,--list-different --config=reads --ignore-path=reads --log-level= --loglevel= --parser= --stdin-filepath= -u,--ignore-unknown --no-config --single-quote --print-width= --plugin= --cache --apply --fix --unsafe --formatter-enabled= --changed --staged",
        in_place="-w --apply --fix", unknown="runs reads"),
    row("serve http-server live-server json-server", "reads*", "-p= -l= -s -o", unknown="reads", here=True),
    # Python, Go, Rust and other linters and formatters
    row("ruff", "plain reads*",
        "--fix --unsafe-fixes --check --diff --select= --ignore= --extend-select= --config= -q,--quiet -v --output-format= --exclude= --extend-exclude= --line-length= -n,--no-cache --statistics --watch --target-version= --stdin-filename= -e,--exit-zero --preview --isolated --show-fixes --fix-only --extend-ignore= --per-file-ignores= --cache-dir=writes -o,--output-file=writes",
        unknown="reads", in_place="--fix --fix-only", style="ruff"),
    row("black isort autopep8 yapf autoflake pyupgrade docformatter usort blue", "writes*",
        "--check --diff -l,--line-length= -q,--quiet -v -i,--in-place -r,--recursive --config=reads -t,--target-version= -S --exclude= --extend-exclude= --include= --profile= --stdin-filename= -c= -C --preview --py311-plus --remove-all-unused-imports -a --aggressive --max-line-length= --color",
        unknown="writes reads", instead={"--check --diff -c": "reads*"}),
    row("mypy pyright pyre ty pylint flake8 pycodestyle pydocstyle bandit vulture safety pip-audit semgrep codespell typos radon basedpyright pytype", "reads*",
        "--strict --config-file=reads --config=reads -p,--project= -m= --show-error-codes --ignore-missing-imports --no-error-summary -r -q -ll -x= --exclude= --max-line-length= --select= --ignore= --extend-ignore= --disable= --enable= --rcfile=reads -j= -f= --install-types --non-interactive --python-version= --outputjson --watch -w --level= --pretty --no-color-output --follow-imports= --check-untyped-defs --no-incremental --cache-dir=",
        unknown="runs reads writes"),
    row("shellcheck hadolint yamllint actionlint ansible-lint cfn-lint sqlfluff tflint checkov trivy gitleaks detect-secrets trufflehog vale proselint htmlhint cspell", "reads*",
        "-s,--shell= -x -e,--exclude= -f,--format= -c= -d= -S,--severity= -a -W= --config=reads --fix",
        in_place="--fix", unknown="reads"),
    row("shfmt", "reads*", "-w,--write -l,--list -d,--diff -i,--indent= -ci -bn -sr -s -ln= -p", in_place="-w",
        single_dash=True),
    row("gofmt goimports gofumpt", "reads*", "-w -l -d -s -e -local= -r=", in_place="-w", recursive="always",
        style="gofmt"),
    row("rustfmt clang-format stylua taplo swiftformat swift-format ktlint google-java-format", "reads*",
        "--check --edition= -i -style= --style= --fallback-style= -n,--dry-run --Werror -l -c,--check --config= -F -r -a,--aosp",
        in_place="-i", unknown="writes"),
    row("golangci-lint staticcheck revive govulncheck clang-tidy cppcheck cpplint rubocop standardrb brakeman phpstan psalm phpcs php-cs-fixer swiftlint detekt checkstyle spotbugs credo dialyzer luacheck", "plain*",
        "-A -a --fix -c= --config= --enable= --timeout= -v", unknown="any"),
    row("go", "plain*", "-C=folder", unknown="any", guarded=True, single_dash=True, subcommands=(
            row("build install", "plain*",
                "-o=writes -v -x -race -tags= -ldflags= -gcflags= -mod= -trimpath -a -n -p= -buildvcs= -buildmode= -cover",
                unknown="writes runs reads urls", single_dash=True),
            row("run test generate tool", "plain*",
                "-v -run= -race -count= -cover -coverprofile=writes -bench= -benchmem -timeout= -short -tags= -exec=shell -failfast -json -p= -parallel= -coverpkg= -covermode= -cpuprofile=writes -shuffle= -list= -skip= -fuzz= -fuzztime= -mod= -x -n",
                unknown="any", single_dash=True),
            row("fmt fix", "writes*", "-n -x", unknown="writes", single_dash=True),
            row("vet list version env doc help bug", "plain*", "-m -json -f= -u -e -w -all -deps -mod= -vettool=",
                unknown="reads urls", single_dash=True),
            row("mod get work clean", "plain*", "-u -v -x -n -go= -modcache -cache -testcache -t -d",
                unknown="writes deletes reads urls", single_dash=True),
        )),
    row("cargo", "plain*",
        "-q,--quiet -v,--verbose --color= --manifest-path=reads --locked --offline --frozen --config= -Z= --version -V",
        unknown="any", guarded=True, style="toolchain",
        same={"b": "build", "c": "check", "t": "test", "r": "run", "d": "doc", "rm": "remove"},
        subcommands=(
            row("build b check c test t run r bench clippy doc d nextest miri rustc tarpaulin llvm-cov watch", "plain*",
                "-r,--release -p,--package= --workspace --all --all-targets --all-features --features= -F= --no-default-features --target= --target-dir=writes --bin= --bins --lib --example= --examples --test= --tests --bench= --doc --no-run --no-fail-fast -j,--jobs= --profile= --open --no-deps --fix --allow-dirty --allow-staged -q -v --message-format= --manifest-path=reads -x= --exclude=",
                unknown="any"),
            row("fmt", "plain*", "--all --check -p= -v -q", unknown="writes"),
            row("tree metadata search info pkgid version help read-manifest locate-project verify-project", "plain*",
                "-i= -d -e= -p= --depth= --format-version= --no-deps --features= --all-features --limit=",
                unknown="reads urls"),
            row("add remove rm update generate-lockfile new init fix vendor fetch clean install uninstall package", "plain*",
                "-p,--package= --dev --build --features= -F= --git= --branch= --path= --rev= --tag= --version= --name= --lib --bin --edition= --force -f --root=writes --locked --dry-run --optional --vcs= --release --doc --bins --allow-dirty --target-dir= -w,--workspace --target=",
                unknown="any"),
            row("publish yank login logout owner", "plain*",
                "-p,--package= --dry-run --allow-dirty --token= --registry= --no-verify --index= --undo --version=",
                unknown="urls runs"),
        )),
    row("make gmake", "plain*",
        "-B,--always-make -C,--directory=folder -d -e -f,--file,--makefile=script -i,--ignore-errors -I,--include-dir= -j,--jobs[=] -k,--keep-going -l[=] -n,--just-print,--dry-run,--recon -o,--old-file= -p,--print-data-base -q,--question -r -R -s,--silent,--quiet -S -t,--touch -v,--version -w -W= --no-print-directory --trace --debug[=] --output-sync[=] -O",
        unknown="any", evaluates="*"),
    row("just task mage rake ninja samu meson bazel bazelisk buck buck2 pants please scons waf xmake b2 earthly dagger dobi tup redo", "plain*",
        "-C=folder -f= -j= -v -n -k= -t= -d= --config= -c= --verbose", unknown="any"),
    row("cmake ctest cpack", "plain*",
        "-S= -B= -D= -G= -P=script -E --build= --install= --target= -t= -j= --config= -C= --preset= --parallel[=] -R= -V --output-on-failure --verbose -L= -LE= -E=",
        unknown="any"),
    row("gradle gradlew mvn mvnw ant sbt lein clj clojure mill bloop kotlinc scala kotlin amm jbang", "plain*",
        "-p= -b= -x= -D= -P= -q -v -f=reads -pl= -am -o -B -U -T= -s= --no-daemon --info --stacktrace --tests= --offline --parallel --build-cache -DskipTests -e -X",
        unknown="any"),
    row("java", "plain*", "-jar=script -cp= -classpath= -version --version -D= -X=", unknown="any", single_dash=True),
    row("javac jar javadoc jshell kotlinc-native", "reads*",
        "-d=writes -cp= -classpath= -source= -target= -encoding=", unknown="any", single_dash=True),
    row("gcc cc g++ c++ clang clang++ tcc icc emcc em++ nvcc zig.cc rustc ld lld ar.link as nasm dmd ldc2 ghc ocamlopt swiftc fpc gfortran tinygo", "reads*",
        "-o=writes -c -S -E -g -O -Wall -Wextra -Werror -I= -L= -D= -U= -std= -x= -include= -isystem= -MF= -MT= -march= -shared -fPIC -pthread -v -l= -f= -W= -m= --edition= --crate-type= --out-dir=writes -C=",
        unknown="runs writes"),
    row("dotnet msbuild nuget", "plain*",
        "-c,--configuration= -f,--framework= -o,--output=writes -r,--runtime= --no-build --no-restore -v,--verbosity= --project= --filter= -p= --nologo --logger= --collect=",
        unknown="any"),
    row("swift xcodebuild xcrun fastlane pod carthage xcodegen", "plain*",
        "-scheme= -configuration= -destination= -project= -workspace= -sdk= -derivedDataPath=", unknown="any",
        single_dash=True),
    row("mix iex rebar3 erl gleam", "plain*", "-e=code -S= -r=", unknown="any"),
    row("zig nim crystal dart flutter v odin stack cabal opam dune elm purs spago idris2 hugo jekyll bundle.exec mkdocs sphinx-build zola asciidoctor pandoc latexmk pdflatex xelatex typst dot mermaid mmdc plantuml", "plain*",
        "-o=writes", unknown="any"),
    row("composer phpunit artisan pest", "plain*", "-d=folder -n -q -v --no-dev --filter= -c=", unknown="any"),
    row("bundle gem rspec rails rake.run cucumber", "plain*", "-v -q -n= --path= -e= --format= -f= -c", unknown="any", subcommands=(
            row("exec", "", "--keep-file-descriptors", wraps="words", unknown="any"),
            row("push yank", "reads*", "--host= --otp= -k=", unknown="urls"),
        )),
    # interpreters; those of shells are wrappers
    row("perl raku", "script plain*",
        "-e=code -E=code -n -p -i[=] -l[=] -0[=] -a -F= -M= -m= -I= -w -W -T -t -c -v -V -s -S -u -U -x[=] -C[=] -h",
        unknown="any", interpreter=True, open_options=True, evaluates="-M -m -I -x", in_place="-i", style="perl"),
    row("ruby irb jruby", "script plain*",
        "-e=code -n -p -i[=] -l -a -F= -r= -I= -w -c -v -S -C=folder -E= -x[=] --version -h", unknown="any",
        interpreter=True, open_options=True, evaluates="-r -I -C -x", style="perl"),
    row("php php-cli", "script plain*",
        "-r=code -f=script -S= -t= -d= -c=reads -n -l -m -i -v -a -q -B=code -R=code -E=code -F=script -z=script",
        unknown="any", interpreter=True, open_options=True, evaluates="-d -c -t"),
    row("lua luajit Rscript R julia tclsh wish expect osascript guile racket sbcl octave matlab bb nu elvish xonsh gnuplot runghc elixir groovy cscript wscript wasmtime wasmer", "script plain*",
        "-e=code -E=code -l= -v -i -q -c=code", unknown="any", interpreter=True,
        open_options=True, evaluates="-l"),
    row("pwsh powershell", "shell plain*",
        "-c,-C,-Command,-command,-COMMAND=shell -f,-File,-file=script -EncodedCommand,-enc= -ExecutionPolicy,-ep= -NoProfile,-nop,-noprofile -NonInteractive -NoLogo -NoExit -WorkingDirectory,-wd=folder -Version",
        unknown="any", single_dash=True),
    row("m4", "script plain*", "-D= -U= -I= -P -s", unknown="any", interpreter=True, evaluates="* -D -I"),
)


# containers, clusters, clouds, the network, and the system

_RUN: Final = (
    "-d,--detach -i,--interactive -t,--tty -it --rm -e,--env= --env-file=reads -v,--volume=mount --mount=mount -p,--publish= -P --name="
    " --network= --net= -w,--workdir= -u,--user= --entrypoint= --platform= --privileged --gpus= --shm-size= --memory= -m="
    " --cpus= -h,--hostname= --add-host= --label= -l= --restart= --pull= --init --ipc= --pid= --cap-add= --cap-drop="
    " --security-opt= --device= --tmpfs= --read-only --link= --dns= --ulimit= --userns= -q,--quiet --log-driver= --log-opt= -a="
    " -T --no-TTY --no-deps --service-ports --build --index= --detach-keys= --use-aliases --cidfile= --group-add= --expose="
)
_COMPOSE: Final = "-f,--file=reads -p,--project-name= --profile= --env-file=reads --project-directory=folder --ansi= --progress= --compatibility --parallel= --dry-run "
_COMPOSE_SUBS: Final = (
    row("up start restart create pull push build watch run.d", "plain*",
        _COMPOSE
        + "-d,--detach --build --no-build --force-recreate --no-recreate --remove-orphans --wait --scale= --no-deps -t,--timeout= --no-start --abort-on-container-exit --exit-code-from= --pull= --no-cache --build-arg= -q,--quiet --quiet-pull -V,--renew-anon-volumes --no-log-prefix -y",
        unknown="any"),
    row("down stop kill rm pause unpause", "plain*",
        _COMPOSE + "-v,--volumes --rmi= --remove-orphans -t,--timeout= -s,--signal= -f,--force"),
    row("ps logs top images config ls port version events stats convert volumes", "plain*",
        _COMPOSE
        + "-q,--quiet -a,--all --services --format= -f,--follow --tail= -n= --since= --no-color --no-log-prefix -t,--timestamps --status= -o=writes --index= --hash="),
    row("exec run", "plain", _COMPOSE + _RUN, wraps="words", remote=True, unknown="reads writes"),
    row("cp", "plain*", _COMPOSE + "-a -L", unknown="reads writes"),
)
_DOCKER: Final = "-H,--host= -c,--context= -D,--debug -l,--log-level= --config= --tls --tlsverify -v,--version "
_FILTER: Final = (
    "-a,--all -q,--quiet -f,--filter= --format= --no-trunc -n,--last= -l,--latest -s,--size --digests --tree "
)
_DOCKER_SUBS: Final = (
    row("ps images image.ls volume.ls info version search history events top stats port diff inspect logs", "plain*",
        _DOCKER
        + _FILTER
        + "--follow --tail= -n= --since= --until= -t,--timestamps --details --no-stream --type= --limit= -H --human"),
    row("exec", "plain", _DOCKER + _RUN, wraps="words", remote=True, unknown="reads writes"),
    row("run", "plain", _DOCKER + _RUN, wraps="words", remote=True, unknown="reads writes urls", style="image"),
    row("create", "plain*", _DOCKER + _RUN, unknown="urls"),
    row("build buildx builder", "plain*",
        _DOCKER
        + "-t,--tag= -f,--file=reads --build-arg= --target= --no-cache --pull --platform= --push --load -q,--quiet --progress= --secret= --ssh= -o,--output= --cache-from= --cache-to= --network= --label= --iidfile=writes --builder= --provenance= --sbom= --rm --squash -a,--all --force --filter= --use --name= --driver= --bootstrap",
        unknown="any"),
    row("pull push login logout tag import load", "plain*",
        _DOCKER
        + "-a,--all-tags -q,--quiet --platform= -u,--username= -p,--password= --password-stdin -i,--input=reads -m= --disable-content-trust",
        unknown="urls"),
    row("save export", "plain*", _DOCKER + "-o,--output=writes"),
    row("start stop restart kill pause unpause wait attach rename update commit", "plain*",
        _DOCKER
        + "-t,--time,--timeout= -s,--signal= -a -i -m,--message= --author= --no-stdin --restart= --memory= --cpus="),
    row("rm", "plain*", _DOCKER + "-f,--force -v,--volumes -l,--link"),
    row("rmi", "plain*", _DOCKER + "-f,--force --no-prune"),
    row("cp", "plain*", _DOCKER + "-a -L -q", unknown="reads writes", style="docker-cp"),
    row("system volume network container image context secret config swarm service stack node plugin manifest trust scout model mcp", "plain*",
        _DOCKER
        + _FILTER
        + "-f,--force --volumes --filter= -d,--driver= --name= --label= --subnet= -o,--opt= --type= -t= -v",
        unknown="", style="2"),
    row("compose", "plain*", _DOCKER + _COMPOSE, unknown="any", subcommands=_COMPOSE_SUBS),
)
_KUBE: Final = (
    "-n,--namespace= --context= --cluster= --kubeconfig=reads --user= -s,--server= --token= -A,--all-namespaces -o,--output="
    " -l,--selector= --field-selector= -w,--watch --show-labels --sort-by= -L= --no-headers --request-timeout= --v= -v= --as= --as-group= "
    " -f,--filename= -R,--recursive -k,--kustomize= --dry-run[=] --force --grace-period= --all --cascade[=] --now --wait[=]"
    " --timeout= --ignore-not-found[=] --prune --server-side --validate[=] --record -c,--container= --tail= --since= -p,--previous"
    " --follow --timestamps --replicas= --type= --patch= -i,--stdin -t,--tty -it --image= --restart= --rm --env= --port= --command"
    " --overwrite --local --from-literal= --from-file= --from-env-file= --for= --revision= --to-revision= --delete-emptydir-data --ignore-daemonsets --disable-eviction --yes --output-directory= --minify --raw --flatten --current --containers --prefix --limits= --requests= --subresource= --api-group= --verbs= --namespaced[=] --address= --min= --max= --cpu-percent= --show-managed-fields --max-log-requests= --all-containers[=]"
)
_KUBECTL: Final = row("kubectl oc k kubecolor", "plain*", _KUBE, unknown="urls", subcommands=(
        row("exec run debug", "plain", _KUBE, wraps="words", dashes=True, remote=True, unknown="urls"),
        row("get describe logs top explain version api-resources api-versions cluster-info diff events wait auth config", "plain*",
            _KUBE, unknown="urls reads"),
        row("apply create replace delete patch edit scale rollout label annotate expose set autoscale taint drain cordon uncordon port-forward proxy attach kustomize certificate completion plugin", "plain*",
            _KUBE, unknown="urls reads"),
        row("cp", "plain*", _KUBE, unknown="urls reads writes", style="docker-cp"),
    ))
_HELM: Final = "-n,--namespace= --kube-context= --kubeconfig=reads -f,--values=reads --set= --set-string= --set-file= --version= --create-namespace -i,--install --dry-run[=] --debug --wait --atomic --timeout= --force --reuse-values --reset-values -o,--output= -a,--all -A,--all-namespaces -q --keep-history --repo= --username= --password= -d,--destination=writes --output-dir=writes --max= --no-hooks --cleanup-on-fail --dependency-update --description= "
_TERRAFORM: Final = "-chdir=folder -auto-approve -var= -var-file=reads -out=writes -target= -input= -lock= -lock-timeout= -refresh= -refresh-only -destroy -json -no-color -parallelism= -state=writes -state-out=writes -backup=writes -upgrade -reconfigure -migrate-state -backend= -backend-config= -get= -plugin-dir= -recursive -check -diff -write= -compact-warnings -detailed-exitcode -replace= -force-copy -raw -force -ignore-remote-version"
_AWS: Final = "--profile= --region= --output= --query= --no-cli-pager --endpoint-url= --no-verify-ssl --no-paginate --debug --no-sign-request --cli-input-json= --cli-binary-format= --recursive --dryrun --delete --exclude= --include= --acl= --force --bucket= --key= --body=reads --name= --stack-name= --template-file=reads --template-body= --parameters= --capabilities= --function-name= --payload= --instance-ids= --group-name= --filters= --max-items= --page-size= --quiet --only-show-errors --sse= --storage-class= --human-readable --summarize --cluster= --service= --task-definition= --desired-count= --secret-id= --secret-string= --table-name= --yes -y --user-name= --policy-arn= --role-name= --log-group-name= --since= --follow --image-id= --db-instance-identifier= --skip-final-snapshot --id= --distribution-id= --paths= --registry-ids= --repository-name= --cidr-block= --vpc-id="
_GCLOUD: Final = "--project= --account= --configuration= --format= --filter= --limit= -q,--quiet --region= --zone= --verbosity= --impersonate-service-account= --location= --sort-by= --async --source= --image= --allow-unauthenticated --no-allow-unauthenticated --set-env-vars= --memory= --cpu= --tag= --config=reads --cluster= --command= --member= --role= --global --machine-type= --num-nodes= --follow --freshness= --resource-group= -g= -n,--name= --subscription= -o,--output= --query= --yes -y --ids= --no-wait --sku= --resource-type= --location-id= -l="
_CURL: Final = (
    "-#,--progress-bar -0 -1 -2 -3 -4,--ipv4 -6,--ipv6 -a,--append -A,--user-agent= -b,--cookie= -B -c,--cookie-jar=writes"
    " -C,--continue-at= -d,--data,--data-ascii,--data-raw,--data-binary= --data-urlencode= -D,--dump-header=writes -e,--referer="
    " -E,--cert= -f,--fail -F,--form= -g,--globoff -G,--get -h,--help -H,--header= -i,--include -I,--head -j -J,--remote-header-name"
    " -k,--insecure -K,--config=reads -l -L,--location -m,--max-time= -M -n,--netrc -N,--no-buffer -o,--output=writes"
    " -O,--remote-name -p,--proxytunnel -P= -q,--disable -Q= -r,--range= -R,--remote-time -s,--silent -S,--show-error -t= "
    " -T,--upload-file=reads -u,--user= -U,--proxy-user= -v,--verbose -V,--version -w,--write-out= -x,--proxy= -X,--request= -y= -Y="
    " -z,--time-cond= -Z,--parallel --compressed --connect-timeout= --retry= --retry-delay= --retry-max-time= --retry-all-errors"
    " --retry-connrefused --cacert=reads --capath=reads --key=reads --cert-type= --fail-with-body --create-dirs --output-dir=writes --url="
    " --json= --resolve= --unix-socket= --max-redirs= --limit-rate= --http1.1 --http2 --tlsv1.2 --proto= --proto-redir= --noproxy="
    " --form-string= --oauth2-bearer= --digest --basic --location-trusted --trace=writes --trace-ascii=writes --stderr=writes"
    " --no-progress-meter --path-as-is --remote-name-all --speed-limit= --speed-time= --tcp-nodelay --netrc-file=reads"
)
_WGET: Final = (
    "-q,--quiet -v,--verbose -nv,--no-verbose -O,--output-document=writes -P,--directory-prefix=writes -o,--output-file=writes"
    " -a,--append-output=writes -c,--continue -N,--timestamping -t,--tries= -T,--timeout= -w,--wait= -r,--recursive -l,--level="
    " -k -K -p,--page-requisites -m,--mirror -np,--no-parent -nc,--no-clobber -nd -nH -i,--input-file=reads -U,--user-agent= -S,--server-response"
    " --spider --header= --user= --password= --post-data= --post-file=reads --method= --body-data= --body-file=reads --no-check-certificate"
    " --content-disposition --show-progress --progress= --max-redirect= --no-cache --limit-rate= --no-hsts --https-only -4 -6 -A= -R= -e= --ca-certificate=reads --load-cookies=reads --save-cookies=writes -x -E -H -D= -L -b,--background"
)
_SYSTEM_PM: Final = "-y,--yes,--assume-yes -q,--quiet -v -f,--force -n,--dry-run -s --no-install-recommends --purge --reinstall -t= -o= -c= --fix-broken --allow-downgrades --only-upgrade --needed --noconfirm --noprogressbar -S -R -Q -U -Sy -Syu -Su -Ss -Si -Qi -Ql -Rs -Rns -i -e -h --cask --formula --HEAD --no-quarantine --all --json --versions --greedy --installed --upgradable --no-cache --update --virtual= --enablerepo= --disablerepo= -D --root= --prefix= -x -a -l --installed --classic --channel= --no-interactive --best"

_SIGNALS: Final = "-9,-KILL,-SIGKILL -15,-TERM,-SIGTERM -1,-HUP,-SIGHUP -2,-INT,-SIGINT"

OPS: Final[tuple[Program, ...]] = (
    row("docker podman nerdctl docker.exe lima.nerdctl finch", "plain*", _DOCKER, unknown="any",
        same={
            **{f"container {verb}": verb for verb in ["rm", "ps", "exec", "run", "stop", "kill", "logs", "cp", "inspect", "start", "restart"]},
            **{f"image {verb}": verb for verb in ["build", "pull", "push", "tag"]},
            "container ls": "ps", "container remove": "rm", "image rm": "rmi", "image ls": "images", "image remove": "rmi",
            "volume remove": "volume rm", "network remove": "network rm",
        },
        subcommands=_DOCKER_SUBS),
    row("docker-compose podman-compose", "plain*", _COMPOSE, unknown="any", subcommands=_COMPOSE_SUBS),
    row("buildah skopeo kaniko crane cosign ctr crictl runc dive lazydocker colima kind k3d limactl vagrant packer multipass qemu-system-x86_64 virsh", "plain*",
        "-p= -f= -n= -v", unknown="any"),
    _KUBECTL,
    row("minikube microk8s k3s", "plain*", "-p,--profile=", unknown="any", subcommands=(
            row("kubectl", "", wraps="words", unknown="urls", acts_as="kubectl"),
        )),
    row("helm", "plain*", _HELM, unknown="urls",
        same={"delete": "uninstall", "del": "uninstall", "un": "uninstall", "ls": "list"}, subcommands=(
            row("list ls status get history show search version env repo lint template dependency verify", "plain*",
                _HELM, unknown="urls reads"),
            row("install upgrade uninstall delete del un rollback push pull package plugin test create registry", "plain*",
                _HELM, unknown="urls reads writes"),
        )),
    row("kustomize kubectx kubens k9s stern argocd flux istioctl linkerd skaffold tilt kops eksctl velero kubeseal telepresence", "plain*",
        "-n= -f= -l= -c= -o=", unknown="any"),
    row("terragrunt", "", _TERRAFORM, wraps="words", unknown="any",
        single_dash=True, acts_as="terraform", style="run-words"),
    row("terraform tofu", "plain*", _TERRAFORM, unknown="any", single_dash=True,
        same={"apply -destroy": "destroy"}, subcommands=(
            row("plan validate show output state providers graph version get console refresh workspace taint untaint import login logout force-unlock", "plain*",
                _TERRAFORM, unknown="runs reads writes urls", single_dash=True),
            row("apply destroy init test", "plain*", _TERRAFORM, unknown="any", single_dash=True),
            row("fmt", "writes*", _TERRAFORM, unknown="writes", single_dash=True),
        )),
    row("pulumi cdk cdktf sam serverless.fw ansible ansible-playbook ansible-galaxy ansible-vault salt chef puppet capistrano kamal fly flyctl heroku railway render doctl linode-cli hcloud vultr-cli supabase amplify eb copilot nomad consul vault packer.build", "plain*",
        "-i= -l= -e= -u= -s= -y,--yes --stack= -f,--force -a,--app= -r= --profile= --region= --require-approval= --skip-preview -t= --tags= --limit= --app=",
        unknown="any"),
    row("aws awslocal", "plain*", _AWS, unknown="urls", style="aws", same={}),
    row("gcloud gsutil bq az oci ibmcloud aliyun", "plain*", _GCLOUD + " -m -r -R -a -h -c -z -n",
        unknown="urls reads writes"),
    row("s3cmd s5cmd rclone mc b2 azcopy minio", "plain*", "-r,--recursive -f,--force -n,--dry-run -P -v -q --delete",
        unknown="urls reads writes deletes"),
    # network
    row("curl", "url*", _CURL, style="curl", guarded=True, evaluates="-K"),
    row("wget wget2", "url*", _WGET, style="wget", guarded=True, evaluates="-e"),
    row("http https xh httpie", "plain*",
        "-v -h -b -f,--form -j,--json -a,--auth= -A= -d,--download -o,--output=writes -p= --body --headers --verify= --timeout= -F,--follow --check-status --ignore-stdin -s= --session=",
        unknown="urls", style="httpie"),
    row("aria2c axel yt-dlp youtube-dl lynx links w3m elinks", "url*",
        "-o=writes -O=writes -d,--dir=writes -x= -s= -j= -c -q -f= -dump -source", unknown="writes", style="wget"),
    row("nc ncat netcat socat telnet openssl nmap tcpdump wireshark tshark ngrok cloudflared localtunnel lt", "plain*",
        "-l -p= -v -z -w= -n -u -k -e=shell -c=shell -i= -o=writes -s= -X= -in=reads -out=writes", unknown="any"),
    row("grpcurl wrk ab hey k6 vegeta artillery siege websocat mosquitto_pub mosquitto_sub", "plain*",
        "-c= -n= -t= -d= -H= -plaintext", unknown="urls"),
    row("mail mailx mutt", "plain*", "-s= -t -a=reads -A=reads -b= -c= -r= -E -e= -x", unknown="urls"),
    row("sendmail msmtp ntfy notify-send terminal-notifier say wall slack-cli", "plain*",
        "-s= -t -a= -u= -i= -m=", unknown="urls"),
    # databases
    row("psql pgcli usql", "plain*",
        "-a -b -A,--no-align -c,--command= -d,--dbname= -e -E -f,--file=reads -F= -h,--host= -H -l,--list -L=writes -n -o,--output=writes -p,--port= -P,--pset= -q,--quiet -R= -s -S -t,--tuples-only -T= -U,--username= -v,--set,--variable= -V,--version -w,--no-password -W,--password -x,--expanded -X,--no-psqlrc -z -0 -1,--single-transaction --csv",
        unknown="any", evaluates="* -c -f", guarded=True, reads_code=True, queries=True),
    row("mysql mariadb mycli", "plain*",
        "-h,--host= -u,--user= -p,--password[=] -P,--port= -D,--database= -e,--execute= -s,--silent -N,--skip-column-names -B,--batch -r,--raw -t,--table -f,--force -v,--verbose -q,--quick -S,--socket= -A -c -C -E -H -n -o -L -X --protocol= --ssl-mode= --defaults-file=reads --defaults-extra-file=reads --init-command= --default-character-set=",
        unknown="any", evaluates="* -e --init-command", guarded=True, reads_code=True, queries=True),
    row("sqlite3 duckdb sqlcmd clickhouse-client cockroach cqlsh influx", "plain*",
        "-h= -u= -p= -d= -c= -e= -q,--query= -Q= -i=reads -o=writes -S= -U= -P= -f=reads -cmd= -json -csv -header -column -line -list -batch -readonly -bail -init=reads -separator= --host= --user= --port= --password= --database= --execute= --file=reads",
        unknown="any", evaluates="* -c -e -q -Q -f -cmd --execute", guarded=True, reads_code=True, queries=True),
    row("mongosh mongo redis-cli", "plain*",
        "-h= -U= -u= -p= -P= -d= -c= -e= -f=reads -o=writes -D= -n= -t -A -x -X -q -w -W -a= -s -N -B -cmd= -json -csv -header --host= --user= --port= --eval= --command= --dbname= --file=reads --username= --password= --quiet --raw --scan --pattern= --execute=",
        unknown="any", evaluates="* -c -e -f -cmd --eval --command --file --execute", guarded=True, reads_code=True),
    row("pg_dump pg_dumpall mysqldump mongodump pg_restore mongorestore createdb dropdb createuser dropuser initdb pg_ctl pg_isready mysqladmin redis-server mongod postgres mysqld", "plain*",
        "-h= -U= -u= -p= -d= -f=writes -F= -D= -l= -t= -n= --out=writes --if-exists -W -w --clean -c -C -Fc -v -j=",
        unknown="reads writes urls"),
    # the system
    row("kill", "plain*", f"-s,--signal= -n= -l -L {_SIGNALS}", style="signal"),
    row("killall pkill xkill skill fuser", "plain*",
        f"-f,--full -u= -U= -s,--signal= -e -i -q -r -v -w -x -n -o -t= -P= -k {_SIGNALS}", style="signal"),
    row("systemctl service launchctl rc-service initctl supervisorctl pm2 brew.services loginctl timedatectl localectl", "plain*",
        "--user --now -n= -u= --no-pager -l -a,--all -t,--type= --state= -q -f,--force --lines= -i= --name= -w"),
    row("shutdown reboot halt poweroff init telinit", "plain*", "-h -r -P -H -c -k -f -n -w now"),
    row("mount umount losetup swapon swapoff mkswap", "plain*", "-t= -o= -a -f -l -r -n -v --bind -L= -U=",
        unknown="writes"),
    row("mkfs mkfs.ext4 mkfs.ext3 mkfs.ext2 mkfs.xfs mkfs.btrfs mkfs.vfat mke2fs fdisk sfdisk gdisk parted wipefs blkdiscard badblocks hdparm mkfs.fat diskutil cryptsetup lvremove vgremove pvremove zpool zfs mdadm", "writes*",
        "-t= -F -L= -m= -b= -a -f -l -n -q -U= -O= -s", unknown="writes"),
    row("useradd userdel usermod adduser deluser groupadd groupdel passwd chpasswd chsh chage visudo gpasswd", "plain*",
        "-m -s= -g= -G= -u= -d= -r -a -p= -c= -M -e= -l -L -f", unknown="writes"),
    row("iptables ip6tables nft ufw firewall-cmd pfctl setenforce apparmor_parser sysctl modprobe insmod rmmod", "plain*",
        "-A= -D= -F -I= -P= -t= -p= -j= -w -a -p -n", unknown="writes"),
    row("apt apt-get aptitude dpkg dpkg-reconfigure add-apt-repository dnf yum rpm zypper pacman yay paru apk brew port snap flatpak emerge xbps-install nix-env choco scoop winget pkg pkg_add", "plain*",
        _SYSTEM_PM, unknown="any", same={"rm": "remove", "ls": "list"}, subcommands=(
            row("list search info show policy depends rdepends outdated deps leaves doctor config home cat log uses desc why", "plain*",
                _SYSTEM_PM, unknown="urls"),
            row("install remove rm purge autoremove update upgrade full-upgrade dist-upgrade uninstall reinstall add del download clean autoclean tap untap link unlink cleanup bundle services pin check-update makecache groupinstall module source build-dep edit-sources switch mark delete", "plain*",
                _SYSTEM_PM, unknown="any"),
        )),
    row("apt-cache apt-mark dpkg-query apt-key", "plain*", _SYSTEM_PM, unknown=""),
    row("gpg gpg2 age sops pass security keytool op bw secret-tool kwallet-query certbot mkcert ssh-vault", "plain*",
        "-o,--output=writes -d,--decrypt -e,--encrypt -r,--recipient= -s -a,--armor -i=reads -u= -K -k -w --batch --yes --list-keys --export --import -p -g -D -f,--force",
        unknown="any"),
    row("ffmpeg", "plain* writes", "-i=reads -y -n -c= -o=writes -f= -t= -ss= -to= -v= -r= -q= -of= -vf= -af= -vcodec= -acodec= -b= -s= -crf= -preset= -map= -loglevel= -filter_complex= -pix_fmt= -an -vn -shortest -hide_banner",
        unknown="reads writes", single_dash=True),
    row("convert magick cwebp svgo", "reads* writes", "-o=writes -q= -resize= -quality= -density= -crop= -geometry= -gravity= -background= -format= -rotate= -fill= -font= -pointsize= -annotate= -strip -append -quiet",
        unknown="reads writes", single_dash=True),
    row("ffprobe identify mogrify sips exiftool gs pdftotext qpdf optipng pngquant tesseract whisper", "plain*",
        "-i=reads -y -n -c= -o=writes -f= -t= -ss= -v= -r= -q= -of=", unknown="reads writes deletes", single_dash=True),
    row("claude codex gemini copilot cursor-agent aider opencode goose amp qwen crush cline q llm ollama mods sgpt", "plain*",
        "-p,--print -m,--model= -c -r= -y", unknown="any"),
    row("hookline", "plain*", "-h,--help --version", unknown="any", subcommands=(
            row("trust", "plain*", unknown="any", subcommands=(
                    row("list show approve revoke diff export import token workspace", "plain*", unknown="any"),
                )),
            row("git daemon", "plain*", unknown="any", subcommands=(row("install uninstall stop", unknown="any"),)),
            row("list show add edit remove enable disable undo install uninstall", "plain*", unknown="any"),
        )),
    row("busybox toybox", "", "--list --install", wraps="words"),
    row("xcode-select defaults pmset networksetup scutil softwareupdate csrutil spctl codesign plutil mdfind mdls ditto dscl", "plain*",
        "-p -g -s", unknown="reads writes"),
)
