"""Rows of the table of programs: package managers, build tools, test runners, compilers, linters, interpreters."""

from typing import Final

from hookline.shell.program import Program, row

# one row per program, options on a line of their own where they are many
# fmt: off

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
