"""The command as a whole: help, version, and the way to the window."""

import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.cli import app
from core.cli.console import FAILED
from core.control_characters import visible

ROOT_COMMANDS = ("trace", "bench", "devices")


def test_help_lists_the_commands(capsys):
    assert app.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(command in text for command in ROOT_COMMANDS)


def test_version(capsys):
    assert app.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tilescope 0.")


def test_unknown_command(capsys):
    assert app.main(["tile"]) == 2
    assert "No such command 'tile'" in capsys.readouterr().err


def test_the_help_of_a_command_breaks_its_lines_where_the_terminal_ends(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert app.main(["check", "--help"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    first = lines.index(next(line for line in lines if line.startswith("Exit status: 0")))
    last = lines.index("", first)
    assert last - first >= 2
    for line, below in zip(lines[first:last], lines[first + 1 : last], strict=False):
        assert len(f" {line} {below.split()[0]}") > 79, "the next word would have fitted"


@pytest.mark.parametrize(
    ("arguments", "window"),
    [
        (["tiled"], True),
        (["tiled?n=4&step=12"], True),
        (["nonsense?n=4"], True),  # the window's own parser says what is wrong
        (["kernel.cu"], True),
        (["lesson.txt"], True),
        (["kept.npz"], True),
        (["--fresh"], True),
        (["trace", "tiled"], False),
        (["--help"], False),
    ],
)
def test_what_goes_to_the_window(arguments, window):
    assert app.opens_window(arguments) is window


def test_a_saved_trace_of_another_name_goes_to_the_window(tmp_path):
    kept, text = tmp_path / "kept.trace", tmp_path / "text.trace"
    kept.write_bytes(b"PK\x03\x04")
    text.write_text("not an archive")
    assert app.opens_window([str(kept)])
    assert not app.opens_window([str(text)])


@pytest.mark.parametrize(("leaves", "status"), [(0, 0), (3, 3), (None, 0)])
def test_no_argument_opens_the_window(monkeypatch, leaves, status):
    opened = []

    def run_module(name, **options):
        opened.append((name, options["run_name"]))
        raise SystemExit(leaves)

    monkeypatch.setattr(runpy, "run_module", run_module)
    assert app.main([]) == status
    assert opened == [("gui.__main__", "__main__")]


def test_no_memory_is_one_sentence(capsys, monkeypatch):
    def starve(arguments):
        raise MemoryError

    monkeypatch.setattr(app, "run_command", starve)
    assert app.main(["trace", "tiled"]) == 2
    assert "not enough memory" in capsys.readouterr().err


@pytest.mark.slow
def test_neither_qt_nor_the_window_is_imported_by_a_command():
    code = (
        "import sys; from core.cli.app import main; main(['trace', 'tiled']);"
        "print([m for m in sys.modules if m.split('.')[0] in ('gui', 'PySide6', 'pyqtgraph')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


LONG = (
    "#define TEN(x) x x x x x x x x x x\n"
    "#define MANY(x) TEN(TEN(TEN(TEN(TEN(TEN(x))))))\n"
    "__global__ void k(float* v) { MANY(v[threadIdx.x] = v[threadIdx.x] * 1.5f + 1;) }\n"
)  # the compiler takes minutes


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks the system for processes")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_ctrl_c_ends_a_compilation(tmp_path, number):
    """So does every other end of the command."""
    source = tmp_path / "long.cu"
    source.write_text(LONG)
    code = (  # whoever starts the tests may have SIGINT ignored, and a child has so, too
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"from core.cli.app import main; sys.exit(main(['trace', {str(source)!r}]))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    try:
        compiler = wait_for(lambda: next(iter(children_of(process.pid)), None))
        wait_for(lambda: processor_s(compiler) > 2)  # it has loaded, and is at work
        process.send_signal(number)
        assert "Traceback" not in process.communicate(timeout=HUNG_S)[1]
        assert process.returncode == (130 if number == signal.SIGINT else -number)
        wait_for(lambda: not Path(f"/proc/{compiler}").exists())
    finally:
        process.kill()
        process.communicate()


def test_what_is_no_text_in_utf_8_gets_a_sentence(tmp_path, capfdbinary):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.cu"))
    path.write_text("__global__ void k(float* v) { v[threadIdx.x] = SIX; }\n")
    assert app.main(["trace", str(path), "-D", "SIX=6"]) == 0
    assert b"caf\\udce9.cu: k:" in capfdbinary.readouterr().out
    assert app.main(["trace", str(path), "-D", os.fsdecode(b"SIX=\xe9")]) == 2
    assert b"`-D SIX=\\udce9` is not text in UTF-8" in capfdbinary.readouterr().err
    path.write_text("template <class T> __global__ void k(T* v) { *v = 1; }\n")
    assert app.main(["trace", str(path), "--kernel", os.fsdecode(b"k<\xe9>")]) == 2
    assert b"Traceback" not in capfdbinary.readouterr().err


EARLY = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the test's own parent ignores
at = int(sys.argv[1])

def press(frame, event, argument):
    global at
    at -= 1
    if not at:
        signal.raise_signal(signal.SIGINT)

from core.cli.app import main
sys.setprofile(press)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("command", [("trace", "tiled"), ("devices",), ("--fresh", "--theme=x")])
def test_ctrl_c_while_it_is_loaded_is_quiet(command):
    """At one of the first calls of functions, from the first within main on."""
    for at in (3, 60, 500, 4_000, 30_000):
        done = subprocess.run(
            [sys.executable, "-c", EARLY, str(at), *command],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (130, ""), at


HUNG_S = 300


def wait_for(what):
    end = time.monotonic() + HUNG_S
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def children_of(process):
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


def processor_s(process):
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


RECORDED = Path(__file__).parents[2] / "resources" / "recorded" / "nvidia_h200_2026-11-21.json"
COMMANDS = [
    ["trace", "tiled", "--n", "8", "--tile", "4"],
    ["occupancy", "tiled", "--n", "64", "--tile", "16"],
    ["bench", "tiled", "--show", str(RECORDED)],
    ["devices"],
]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_a_terminal_of_unknown_width_is_printed_to(command, capsys, monkeypatch):
    printed = []
    for width in ("0", "00", "80"):
        monkeypatch.setenv("COLUMNS", width)
        assert app.main(command) == 0
        printed.append(capsys.readouterr().out)
    assert all(len(text) > 100 for text in printed)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("command", [*COMMANDS, [*COMMANDS[0], "--json"]], ids=lambda c: c[-1])
def test_a_full_disk_is_one_sentence(command):
    run = [sys.executable, "-c", "import sys; from core.cli.app import main; sys.exit(main())"]
    with Path("/dev/full").open("w") as full:
        told = subprocess.PIPE
        done = subprocess.run([*run, *command], stdout=full, stderr=told, text=True, check=False)
    assert done.returncode == FAILED
    assert done.stderr == "error: The output cannot be written: No space left on device.\n"


def test_streams_that_a_shell_closed_are_nobodys(tmp_path):
    """Without them the next file that is opened would have their number."""
    saved = tmp_path / "t.npz"
    run = "import sys; from core.cli.app import main; sys.exit(main())"
    command = f'"{sys.executable}" -c "{run}" trace tiled --save "{saved}" <&- >&-'
    done = subprocess.run(command, shell=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert saved.read_bytes()[:2] == b"PK"


HOSTILE = "\x1b]0;title\x07\x1b[31m"


def test_escape_codes_of_others_do_not_reach_the_terminal(tmp_path, capsys):
    path = tmp_path / f"k{HOSTILE}.cu"
    path.write_text(
        "#include <cstdio>\n"
        'extern "C" __global__ void k(float *x) { x[0] = 1; // \x1b[5m\n'
        'printf("a\\033[2Jb\\n"); }\n'
    )
    assert app.main(["trace", str(path), "--grid", "1", "--block", "1"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "a\\x1b[2Jb" in out
    assert "k\\x1b]0;title" in out
    path.write_text(f'__global__ void k() {{}}\n#error "{HOSTILE}"\n')
    assert app.main(["trace", str(path)]) == 2
    errors = capsys.readouterr().err
    assert "#error" in errors
    assert "\x1b" not in errors
    assert app.main(["trace", str(tmp_path / f"gone{HOSTILE}.cu")]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_what_acts_unseen_is_shown_as_what_it_is():
    assert visible("a\tb\nc \u202egnp.exe \x9b3m \x7f \udcff é\u202f1") == (
        "a\tb\nc \\u202egnp.exe \\x9b3m \\x7f \\udcff é\u202f1"
    )
    assert visible(visible(HOSTILE)) == visible(HOSTILE)


def test_a_command_loads_no_other_command():
    code = (
        "import sys\n"
        "from core.cli.app import main\n"
        "assert main(['trace', 'tiled', '--n', '2', '--tile', '2']) == 0\n"
        "sys.stderr.write(' '.join(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stderr.split()
    assert "core.cli.trace" in loaded
    assert not [name for name in loaded if name.startswith(("core.gpu", "core.cli.bench"))]
