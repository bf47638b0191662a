"""The house's floors: imports only go down."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = ("bookmarks", "formats", "storage")

# What each module may import of ours: names that its imports have to begin with.
FLOORS = {
    "storage.errors": (),
    "storage.bookmark": ("storage.errors",),
    "storage.files": ("storage.errors",),
    "storage.query": ("storage.bookmark", "storage.errors"),
    "storage.watch": ("storage.errors", "storage.files"),
    "storage.index": ("storage.bookmark", "storage.query"),
    "storage.follower": ("storage",),
    "storage.store": ("storage",),
    "storage.merge": ("storage",),
    "storage.check": ("storage.bookmark", "storage.files", "storage.errors"),
    "formats": ("formats", "storage"),
    "bookmarks": ("formats", "storage"),
}
MODULES = sorted(
    path.relative_to(ROOT)
    for path in [ROOT / "bookmarks.py", *ROOT.glob("storage/*.py"), *ROOT.glob("formats/*.py")]
)


def module_name(path):
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def imports(path):
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_only_go_down(path):
    name = module_name(path)
    if name == "storage":
        allowed = ()
    else:
        allowed = FLOORS.get(name) or FLOORS.get(name.partition(".")[0], ())
        allowed = FLOORS[name] if name in FLOORS else allowed
    ours = [i for i in imports(path) if i.partition(".")[0] in OURS]
    assert [i for i in ours if not any(f"{i}.".startswith(f"{a}.") for a in allowed)] == []


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_the_web_is_known_upstairs_alone(path):
    used = {i.partition(".")[0] for i in imports(path)}
    if module_name(path) not in ("bookmarks", "formats.http"):
        assert "webob" not in used
    if module_name(path) not in ("bookmarks", "formats.waitress_fixes"):
        assert "waitress" not in used
    if module_name(path) != "bookmarks":
        assert not used & {"argparse", "sys"} or module_name(path) in ("storage.watch", "storage.files")


def test_importing_does_nothing(tmp_path):
    """No folder is made and no environment read when the application is only imported."""
    import subprocess

    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import bookmarks"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert list(tmp_path.iterdir()) == []
