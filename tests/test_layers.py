"""Imports only go down through the layers of the program, and importing it does no I/O."""

import ast
import functools
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PATHS = [ROOT / "bookmarks.py", *ROOT.glob("storage/**/*.py"), *ROOT.glob("formats/**/*.py")]
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PATHS
}
# The lowest first. `formats.*` is the representations, of which those of pages are in formats/html.
LAYERS = (
    "storage", "formats.*", "formats.imports", "formats", "formats.http", "formats.serving",
    "formats.commands", "formats.command_line",
    "bookmarks",
)  # fmt: skip
REPRESENTATIONS = {"atom", "csv", "form", "json", "netscape", "text", "xbel"}
SHARED_BY_FORMATS = {"charset", "listing", "xml"}
COMMANDS = {"command_line", "commands", "serving"}


def layer(name):
    """Return the number of the module's layer; `formats` is its __init__.py alone."""
    if name in LAYERS:
        return LAYERS.index(name)
    package = name.rpartition(".")[0]
    return LAYERS.index("formats.*" if package in ("formats", "formats.html") else package)


@functools.cache
def imported_names(name):
    """Return the full name of everything that a module imports, inside functions too."""
    names = []
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def imported_modules(name):
    found = set()
    for imported in imported_names(name):
        module = imported if imported in MODULES else imported.rpartition(".")[0]
        if module in MODULES:
            found.add(module)
    return found


def importers_of(library):
    packages = {name: {each.partition(".")[0] for each in imported_names(name)} for name in MODULES}
    return {name for name, names in packages.items() if library in names}


IMPORTS = {name: imported_modules(name) for name in MODULES}


def test_a_module_imports_only_modules_of_its_own_and_lower_layers():
    for name, modules in IMPORTS.items():
        assert [imported for imported in modules if layer(imported) > layer(name)] == [], name


def test_a_module_in_formats_is_a_representation_shared_by_them_or_the_command_line():
    modules = {path.stem for path in ROOT.glob("formats/*.py")}
    assert modules == REPRESENTATIONS | SHARED_BY_FORMATS | COMMANDS | {"__init__"}


def test_no_two_test_files_have_the_same_name():
    names = [path.name for path in ROOT.glob("tests/**/*.py") if path.name != "conftest.py"]
    assert sorted(names) == sorted(set(names))  # pytest could import only one of them.


def test_no_modules_import_each_other():
    TopologicalSorter(IMPORTS).prepare()  # Raises CycleError, which names the modules.


def test_only_the_http_layer_uses_webob_and_only_its_process_and_fixes_use_waitress():
    others = {name for name in importers_of("webob") if not name.startswith("formats.http.")}
    assert others == {"bookmarks"}
    modules = {"formats.http.process", "formats.http.waitress_fixes"}
    assert importers_of("waitress") == modules


IMPORT_WITH_AUDIT = """
import sys
CHANGES = ("os.mkdir", "os.rename", "os.remove", "socket.bind", "subprocess.Popen")
def audit(event, arguments):
    path = str(arguments[0]) if arguments else ""
    is_code = path.endswith((".py", ".pyc", ".so"))
    if event in CHANGES or event == "open" and path.startswith(sys.argv[1]) and not is_code:
        print(event, *arguments)
sys.addaudithook(audit)
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    __import__(name)
"""


def test_importing_every_module_opens_no_file_and_changes_nothing(tmp_path):
    command = [sys.executable, "-B", "-c", IMPORT_WITH_AUDIT, str(ROOT), *MODULES]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert process.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["storage", "formats"])
@pytest.mark.parametrize("file", ["{}.py", "{}/__init__.py"])
def test_another_package_in_the_way_is_named_in_one_sentence(tmp_path, name, file):
    other = tmp_path / file.format(name)
    other.parent.mkdir(exist_ok=True)
    other.write_text("")
    command = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; import bookmarks"
    process = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    error = f"ImportError: {other} hides {ROOT / name}: put {ROOT} before it in sys.path."
    assert process.stderr.splitlines()[-1] == error
