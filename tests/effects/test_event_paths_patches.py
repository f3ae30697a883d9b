import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.effects.event_paths import PatchPart, parse_changes

AGENTS = """*** Begin Patch
*** Add File: new.py
+*** Delete File: not.py
*** Update File: old.py
*** Move to: moved/old.py
@@ def f():
-x
+y
 z
*** End of File
*** Delete File: gone.py
*** End Patch"""

GIT = """diff --git a/x.py b/x.py
index 1..2 100644
--- a/x.py
+++ b/x.py
@@ -1,2 +1,2 @@ def f():
--- a/not.py
+++ b/not.py
 y
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
\\ No newline at end of file
diff --git a/one b/two
similarity index 100%
rename from one
rename to two
"""


def test_every_file_of_an_agents_patch_is_found() -> None:
    assert parse_changes(AGENTS) == (
        PatchPart("add", "new.py", new="*** Delete File: not.py"),
        PatchPart("move", "old.py", "moved/old.py", old="x\nz", new="y\nz"),
        PatchPart("delete", "gone.py"),
    )


def test_text_around_a_patch_does_not_hide_it() -> None:
    assert parse_changes(f"\n  {AGENTS}\n") == parse_changes(AGENTS)


def test_header_with_blanks_before_it_is_one_as_to_the_agents() -> None:
    assert parse_changes("*** Begin Patch\n  *** Delete File:   a \r\n*** End Patch") == (PatchPart("delete", "a"),)


def test_row_that_stays_as_it_is_may_have_stars() -> None:
    patch = "*** Begin Patch\n*** Update File: a\n *** A title ***\n-b\n+*** c\n*** End Patch"
    assert parse_changes(patch) == (PatchPart("update", "a", old="b", new="*** c"),)


def test_text_behind_a_patch_is_no_text_of_a_file() -> None:
    patch = "*** Begin Patch\n*** Add File: a\n+b\n*** End Patch\n+c\n d"
    assert parse_changes(patch) == (PatchPart("add", "a", new="b"),)


def test_every_file_of_a_unified_diff_is_found_with_and_without_its_first_folder() -> None:
    found = parse_changes(GIT)

    assert found is not None
    assert {(change.op, change.path) for change in found} == {
        *(("update", name) for name in ("a/x.py", "x.py", "b/x.py")),
        *(("delete", name) for name in ("a/gone", "gone", "one", "two")),
    }


def test_plain_diff_is_read() -> None:
    found = parse_changes("--- old.c\t2026-01-01\n+++ /abs/new.c\t2026-01-01\n@@ -1 +1 @@\n-a\n+b")

    assert found == (PatchPart("update", "old.c"), PatchPart("update", "/abs/new.c"))


@pytest.mark.parametrize(
    "patch",
    [
        "",
        "nothing of the kind",
        "*** Begin Patch\n*** End Patch",
        "*** Begin Patch\n*** Rename File: a\n*** End Patch",
        "*** Begin Patch\n*** Add File: \n*** End Patch",
        "*** Begin Patch\n*** Move to: b\n*** End Patch",
        "*** Begin Patch\n*** Add File: a\n*** Move to: b\n*** End Patch",
        "*** Begin Patch\n*** Add File: a\n*** End Patch\n*** Delete File: b",
        "*** Delete File: b\n*** Begin Patch\n*** Add File: a\n*** End Patch",
        "*** Begin Patch\n*** Add File: a\n*** End Patch\n*** Begin Patch\n*** Add File: b\n*** End Patch",
        "+++ b/x",
        "--- a/x",
        "--- a/x\n+++ b/x\n@@ -1,5 +1 @@\n-a\n+b",
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n?a",
        "@@ -1 +1 @@\n-a\n+b",
        '--- "a/x\\n"\n+++ "b/x\\n"\n@@ -1 +1 @@\n-a\n+b',
        'diff --git a/x b/y\nrename from "a"\nrename to b',
        "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
        "diff --git a/x b/x\nnew file mode 100644\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b",
        "diff --git a/x b/x\nGIT binary patch\nliteral 5\n",
        # `patch` takes the name from there where the two rows are missing
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nIndex: y\n@@ -1 +1 @@\n-a\n+b",
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n*** y\n--- z\n***************\n",
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nIndex: y\n1c1\n< a\n---\n> b",
    ],
)
def test_patch_that_cannot_be_read_with_certainty_is_not_read(patch: str) -> None:
    assert parse_changes(patch) is None


@given(st.text(alphabet="*+-@ \nabAddUpteDlFiMovBgnPch:/", max_size=200))
def test_no_text_is_too_odd_to_be_read(text: str) -> None:
    parse_changes(f"*** Begin Patch\n{text}\n*** End Patch")
    parse_changes(text)
