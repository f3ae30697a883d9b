"""Real changes in a real folder, watched through the system's own notices."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import watchfiles

from hookline.model.event import EventName
from hookline.sources import file_changes as files
from hookline.sources.file_changes import Change, FileMonitor, FileTree
from hookline.sources.gitignore import GitIgnore

pytestmark = pytest.mark.slow

SOON = 60
CREATED, EDITED, DELETED = EventName.FILE_CREATED, EventName.FILE_EDITED, EventName.FILE_DELETED


class Watched:
    """A folder that is watched, and every change that was found in it."""

    def __init__(self, root: Path, *paths: str, told: list[str] | None = None) -> None:
        self._root = root
        self.lines: list[str] = told if told is not None else []
        tree = FileTree(str(root), GitIgnore(str(root)), paths)
        self.files = FileMonitor(
            tree, rules=lambda: GitIgnore(str(root)), number=lambda: 0, tell=self.lines.append, quiet=0.05
        )
        self.found: list[Change] = []
        self.batches = 0
        self.number_of_files = 0
        self.following: Callable[[], Awaitable[None]] = self.follow

    async def follow(self) -> None:
        async for batch in self.files.changes():
            self.batches += 1
            for path in sorted(batch.paths):
                change = await self.files.look(path, read=True)
                if change is not None:
                    self.found.append(change)

    def names(self) -> list[tuple[EventName, str]]:
        return [(change.event, change.path) for change in self.found]

    async def until(self, *wanted: tuple[EventName, str]) -> None:
        await come(lambda: set(wanted) <= set(self.names()))


async def come(is_there: Callable[[], bool]) -> None:
    """Wait for something to come true."""
    async with asyncio.timeout(SOON):
        while not is_there():  # noqa: ASYNC110 - what comes true is on the disk
            await asyncio.sleep(0.02)


def watch(root: Path, scenario: Callable[[Watched], Awaitable[None]], *paths: str) -> Watched:
    """Watch a folder, and begin when the first look at everything is over."""

    async def run() -> Watched:
        watched = Watched(root, *paths)
        watched.number_of_files = await watched.files.start(read=True)
        following = asyncio.create_task(watched.follow())
        watched.following = lambda: following
        await come(lambda: watched.batches > 0)
        try:
            await scenario(watched)
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        return watched

    return asyncio.run(run())


def write(path: Path, text: str = "x\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.spec("D-02")
def test_a_new_file_an_edit_and_a_removal_are_told_with_their_names(tmp_path: Path) -> None:
    write(tmp_path / "old.py", "a = 1\n")

    async def scenario(watched: Watched) -> None:
        write(tmp_path / "new.py", "b = 1\n")
        await watched.until((CREATED, "new.py"))
        write(tmp_path / "old.py", "a = 2\n")
        await watched.until((EDITED, "old.py"))
        (tmp_path / "new.py").unlink()
        await watched.until((DELETED, "new.py"))

    watched = watch(tmp_path, scenario)

    assert watched.names() == [(CREATED, "new.py"), (EDITED, "old.py"), (DELETED, "new.py")]


@pytest.mark.spec("D-08", "P-10")
def test_an_edit_has_size_time_content_and_what_is_different(tmp_path: Path) -> None:
    write(tmp_path / "a.py", "a = 1\n")

    async def scenario(watched: Watched) -> None:
        write(tmp_path / "a.py", "a = 22\n")
        await watched.until((EDITED, "a.py"))

    data = watch(tmp_path, scenario).found[0].data()

    assert data == {
        "path": "a.py",
        "size": 7,
        "changed": (tmp_path / "a.py").stat().st_mtime_ns // 1_000_000,
        "content": "a = 22\n",
        "diff": "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a = 1\n+a = 22\n",
    }


def test_an_editor_that_replaces_the_file_edits_it(tmp_path: Path) -> None:
    write(tmp_path / "a.py", "a = 1\n")

    async def scenario(watched: Watched) -> None:
        write(tmp_path / ".a.py.tmp", "a = 2\n")
        (tmp_path / ".a.py.tmp").rename(tmp_path / "a.py")
        await watched.until((EDITED, "a.py"))

    assert watch(tmp_path, scenario).names() == [(EDITED, "a.py")]


def test_a_rename_removes_one_file_and_makes_another(tmp_path: Path) -> None:
    write(tmp_path / "a")

    async def scenario(watched: Watched) -> None:
        (tmp_path / "a").rename(tmp_path / "b")
        await watched.until((CREATED, "b"), (DELETED, "a"))

    assert sorted(watch(tmp_path, scenario).names()) == [(CREATED, "b"), (DELETED, "a")]


def test_what_came_and_went_or_was_only_touched_is_nothing(tmp_path: Path) -> None:
    write(tmp_path / "touched")
    write(tmp_path / "same", "text\n")

    async def scenario(watched: Watched) -> None:
        write(tmp_path / "short")
        (tmp_path / "short").unlink()
        os.utime(tmp_path / "touched")
        (tmp_path / "same").write_text("text\n")
        await asyncio.sleep(0.3)
        write(tmp_path / "end")
        await watched.until((CREATED, "end"))

    assert watch(tmp_path, scenario).names() == [(CREATED, "end")]


def test_every_file_in_folders_that_are_made_moved_in_and_moved_away_is_told(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    write(project / "here")
    write(elsewhere / "deep" / "a")
    write(elsewhere / "b")

    async def scenario(watched: Watched) -> None:
        for number in range(20):
            write(project / "made" / f"{number}" / "deeper" / "file")
        await watched.until(*((CREATED, f"made/{number}/deeper/file") for number in range(20)))
        elsewhere.rename(project / "moved")
        await watched.until((CREATED, "moved/deep/a"), (CREATED, "moved/b"))
        # the folders that came are watched, too
        write(project / "made" / "7" / "deeper" / "file", "other\n")
        write(project / "moved" / "deep" / "a", "other\n")
        await watched.until((EDITED, "made/7/deeper/file"), (EDITED, "moved/deep/a"))
        (project / "moved").rename(elsewhere)
        await watched.until((DELETED, "moved/deep/a"), (DELETED, "moved/b"))
        (project / "made").rename(project / "named")
        files = [f"{number}/deeper/file" for number in range(20)]
        await watched.until(
            *((DELETED, f"made/{file}") for file in files), *((CREATED, f"named/{file}") for file in files)
        )

    watched = watch(project, scenario)

    assert len(watched.names()) == len(set(watched.names())) == 20 + 2 + 2 + 2 + 40


def test_a_folder_that_was_replaced_is_still_watched(tmp_path: Path) -> None:
    write(tmp_path / "src" / "a")

    async def scenario(watched: Watched) -> None:
        (tmp_path / "src" / "a").unlink()
        (tmp_path / "src").rmdir()
        write(tmp_path / "src" / "b")
        await watched.until((DELETED, "src/a"), (CREATED, "src/b"))
        write(tmp_path / "src" / "c")
        await watched.until((CREATED, "src/c"))

    watch(tmp_path, scenario)


def test_what_git_ignores_is_not_told_and_other_rules_count_at_once(tmp_path: Path) -> None:
    write(tmp_path / ".gitignore", "*.log\nbuild/\n")
    write(tmp_path / "a.log")
    write(tmp_path / "b.tmp")

    async def scenario(watched: Watched) -> None:
        write(tmp_path / "a.log", "more\n")
        write(tmp_path / "build" / "x")
        write(tmp_path / ".git" / "index")
        write(tmp_path / "seen")
        await watched.until((CREATED, "seen"))
        write(tmp_path / ".gitignore", "*.tmp\n")
        await watched.until((EDITED, ".gitignore"))
        async with asyncio.timeout(SOON):
            while (EDITED, "a.log") not in watched.names():
                write(tmp_path / "a.log", f"{len(watched.found)} {asyncio.get_running_loop().time()}\n")
                await asyncio.sleep(0.2)
        write(tmp_path / "b.tmp", "more\n")
        write(tmp_path / "end")
        await watched.until((CREATED, "end"))

    watched = watch(tmp_path, scenario)

    paths = {path for _, path in watched.names()}
    assert paths == {"seen", ".gitignore", "a.log", "end"}
    assert {event for event, path in watched.names() if path == "a.log"} == {EDITED}


def test_links_are_not_followed(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    write(project / "a")
    write(outside / "secret")
    (project / "out").symlink_to(outside)
    (project / "round").symlink_to(project)

    async def scenario(watched: Watched) -> None:
        write(outside / "secret", "other\n")
        write(outside / "new")
        (project / "later").symlink_to(outside)
        write(project / "a", "other\n")
        await watched.until((EDITED, "a"))

    assert watch(project, scenario).names() == [(EDITED, "a")]


def test_only_the_named_paths_are_told_of(tmp_path: Path) -> None:
    for name in ("src/a", "docs/b", "one"):
        write(tmp_path / name)

    async def scenario(watched: Watched) -> None:
        for name in ("src/a", "docs/b", "one", "two", "src/new/c"):
            write(tmp_path / name, "other\n")
        await watched.until((EDITED, "src/a"), (EDITED, "one"), (CREATED, "src/new/c"))

    assert {path for _, path in watch(tmp_path, scenario, "src", "one").names()} == {"src/a", "one", "src/new/c"}


def test_every_file_of_a_burst_is_told_once_although_the_system_is_late(tmp_path: Path) -> None:
    for number in range(2_000):
        write(tmp_path / f"{number % 40}" / f"{number}.txt", "old\n")

    async def scenario(watched: Watched) -> None:
        for _ in range(3):
            for number in range(2_000):
                (tmp_path / f"{number % 40}" / f"{number}.txt").write_text("new\n")
        await watched.until(*((EDITED, f"{number % 40}/{number}.txt") for number in range(2_000)))

    watched = watch(tmp_path, scenario)

    assert watched.number_of_files == 2_000
    assert len(watched.found) == 2_000


def test_a_change_that_the_system_kept_to_itself_is_found_after_a_burst(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A burst ends with a look at everything: what is dropped on the way makes no difference."""
    monkeypatch.setattr(files, "_MANY_HINTS", 50)
    (tmp_path / "deaf").mkdir()

    async def scenario(watched: Watched) -> None:
        heard = watched.files._relative  # noqa: SLF001 - the place where the system's word arrives
        watched.files._relative = lambda paths: {  # type: ignore[method-assign]  # noqa: SLF001
            path for path in heard(paths) if not path.startswith("deaf/")
        }
        write(tmp_path / "deaf" / "x")
        for number in range(100):
            write(tmp_path / f"{number}")
        await watched.until((CREATED, "deaf/x"))

    watch(tmp_path, scenario)


def test_files_are_compared_where_the_system_does_not_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_paths: object, **_options: object) -> None:
        raise OSError(28, "no space left for watches")

    monkeypatch.setattr(watchfiles, "awatch", refuse)
    monkeypatch.setattr(files, "POLLING", 0.1)
    write(tmp_path / "a")

    async def scenario(watched: Watched) -> None:
        write(tmp_path / "a", "other\n")
        write(tmp_path / "new" / "b")
        await watched.until((EDITED, "a"), (CREATED, "new/b"))

    watched = watch(tmp_path, scenario)

    assert "does not tell of changes" in watched.lines[0]
    assert "no space left for watches" in watched.lines[0]


def test_a_project_that_is_gone_is_an_error_that_says_so(tmp_path: Path) -> None:
    project = tmp_path / "project"
    write(project / "a")

    async def scenario() -> None:
        watched = Watched(project)
        await watched.files.start(read=True)
        following = asyncio.create_task(watched.follow())
        await come(lambda: watched.batches > 0)
        (project / "a").unlink()
        project.rmdir()
        await asyncio.wait_for(following, SOON)

    with pytest.raises(Exception, match="is not there any more"):
        asyncio.run(scenario())


def test_a_project_that_is_gone_is_noticed_while_a_program_is_still_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    # the system keeps the folder for us, and gives no notice
    monkeypatch.chdir(project)

    async def scenario(watched: Watched) -> None:
        project.rmdir()
        await asyncio.wait_for(watched.following(), SOON)

    with pytest.raises(Exception, match="is not there any more"):
        watch(project, scenario)


def test_a_project_that_is_put_in_the_place_of_another_one_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    write(project / "a")
    monkeypatch.chdir(project)

    async def scenario(watched: Watched) -> None:
        write(tmp_path / "other" / "b")
        project.rename(tmp_path / "old")
        (tmp_path / "other").rename(project)
        await watched.until((DELETED, "a"), (CREATED, "b"))
        write(project / "b", "later\n")
        await watched.until((EDITED, "b"))

    watch(project, scenario)


@pytest.mark.parametrize("named", ["src", "deep/below/src", "src/a"])
def test_what_was_named_is_watched_again_when_it_comes_back(tmp_path: Path, named: str) -> None:
    file = tmp_path / named if named.endswith("/a") else tmp_path / named / "a"
    path = str(file.relative_to(tmp_path))
    write(file)

    async def scenario(watched: Watched) -> None:
        shutil.rmtree(tmp_path / named.partition("/")[0])
        await watched.until((DELETED, path))
        for text in ("one\n", "longer\n"):
            # long enough for whoever looked only once
            await asyncio.sleep(1.5)
            write(file, text)
            await come(lambda text=text: len(watched.found) == 2 + (text == "longer\n"))  # type: ignore[misc]
        write(tmp_path / "elsewhere")

    watched = watch(tmp_path, scenario, named)

    assert watched.names() == [(DELETED, path), (CREATED, path), (EDITED, path)]


def test_a_file_may_have_the_name_of_a_folder_that_was_there(tmp_path: Path) -> None:
    write(tmp_path / "thing" / "a")

    async def scenario(watched: Watched) -> None:
        shutil.rmtree(tmp_path / "thing")
        await watched.until((DELETED, "thing/a"))
        await asyncio.sleep(1.5)
        write(tmp_path / "thing")
        await watched.until((CREATED, "thing"))

    watch(tmp_path, scenario)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\0\1", "it is not text"),
        (b"x" * (files.LARGEST + 1), "it is larger than 256 KB"),
    ],
)
def test_what_is_no_text_or_too_large_says_so_instead_of_its_content(tmp_path: Path, raw: bytes, reason: str) -> None:
    async def scenario(watched: Watched) -> None:
        (tmp_path / "odd").write_bytes(raw)
        await watched.until((CREATED, "odd"))

    data = watch(tmp_path, scenario).found[-1].data()

    assert data["content_omitted"] == reason
    assert data["size"] == len(raw)
    assert "content" not in data


def test_an_edit_of_what_nobody_remembers_has_no_diff_and_says_so(tmp_path: Path) -> None:
    write(tmp_path / "a", "old\n")

    async def run() -> dict[str, object]:
        watched = Watched(tmp_path)
        await watched.files.start(read=False)
        write(tmp_path / "a", "newer\n")
        change = await watched.files.look("a", read=True)
        assert change is not None
        return change.data()

    data = asyncio.run(run())

    assert data["content"] == "newer\n"
    assert data["diff_omitted"] == "what the file said before is not known"


def test_a_file_that_nobody_may_have_read_is_told_without_a_word_about_its_content(tmp_path: Path) -> None:
    async def run() -> dict[str, object]:
        watched = Watched(tmp_path)
        await watched.files.start(read=False)
        write(tmp_path / "a", "secret\n")
        change = await watched.files.look("a", read=False)
        assert change is not None
        return change.data()

    assert set(asyncio.run(run())) == {"path", "size", "changed"}


def test_a_name_that_is_no_text_is_told_all_the_same(tmp_path: Path) -> None:
    name = os.fsdecode(b"odd-\xff.txt")

    async def scenario(watched: Watched) -> None:
        write(tmp_path / name)
        write(tmp_path / "line\nbreak")
        await watched.until((CREATED, "line\nbreak"))
        await come(lambda: len(watched.found) == 2)

    watched = watch(tmp_path, scenario)

    assert len(watched.names()) == 2
