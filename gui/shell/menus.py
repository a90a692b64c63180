"""Every command of the window: menus, shortcuts, and the cheat sheet made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import Qt, qVersion
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from gui.commands.large_view import toggle_full_screen
from gui.commands.theme_applier import change_text_size, next_theme
from gui.looks.theme import NORMAL, load_theme, theme_names
from gui.scenes.comparisons_to_open import PRESETS, Preset
from gui.scenes.configuration import ORDER_TITLES
from gui.scenes.paired_sessions import Naming
from gui.scenes.question_in_views import answer_with_selection, most_of
from gui.scenes.setting_choices import COMPARED_VIEWS, UNITS
from gui.scenes.step_views import VIEWS, StepView
from gui.shell.pages import PAGES
from gui.views.transport_bar import UNIT_TIPS

if TYPE_CHECKING:
    from gui.commands.all_commands import Commands
    from gui.commands.links_and_moments import Lecture
    from gui.commands.nsight_profile import Profiling
    from gui.commands.window_parts import Window
    from gui.scenes.session import Session
    from gui.shell.compare_page import ComparePage

Show = Callable[[], None]
LIST = "Moments"
"""The submenu of a list of moments, which lists them too."""
GROUP, LOOK = "Views", "Text and theme"
WARPS, LINES = "Order of warps", "Select a line"


@dataclass(frozen=True)
class Command:
    """A menu entry: its text, its keys with a space between them, and what it does.

    `checked` says of one that switches something whether it is on. `line` puts a line above it,
    `under` puts it into the submenu of that name. On the sheet of keys, neighbours of the same
    `row` share one line, which says that. `says` gives the entry's text where that changes.
    """

    text: str
    shortcuts: str
    run: Callable[[], object]
    tip: str = ""
    checked: Callable[[], bool] | None = None
    line: bool = False
    under: str = ""
    row: str = ""
    says: Callable[[], str] | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.shortcuts.split())


def build_menus(
    window: Window, do: Commands, bar: QMenuBar, sheets: tuple[Show, Show]
) -> dict[str, list[Command]]:
    """Fill the menu bar; returns the commands by menu, for the sheet of keys.

    `sheets` show that one, and the glossary.
    """
    menus = {
        "&File": _file_commands(window, do),
        "&Edit": _edit_commands(do),
        "&Step": _step_commands(window, do),
        "&Breakpoints": _break_commands(do),
        "&Select": _select_commands(window, do),
        "&View": [
            Command("Why this number?", "W", do.explaining.why),
            *(*_pages(window), *_matrices(window), *_layout(window, do), *_look(window)),
        ],
        "&Compare": _compare_commands(window, do.profiling),
        "&Help": [
            Command("Keyboard shortcuts", "F1", sheets[0]),
            Command("Glossary", "Shift+F1", sheets[1]),
            Command(
                "Learn: lesson 1A",
                "Ctrl+F1",
                partial(do.teaching.begin_lesson, "1A"),
                "The first lesson, which shows the window on the way",
            ),
            Command("About Tilescope", "Ctrl+Shift+F1", partial(_say_version, window)),
        ],
    }
    for title, commands in menus.items():
        submenus = _fill_menu(bar.addMenu(title), commands, window)
        if LIST in submenus:
            do.lecture.list_in(submenus[LIST])
    return menus


def _export_questions(do: Commands) -> None:
    """Of the lesson that is sat, unless another is chosen."""
    sitting = do.teaching.sitting
    do.exporting.ask_and_export_lessons(None if sitting is None else sitting.questions[0].lesson)


def _say_version(window: Window) -> None:
    """Name the version and what it runs on, as a report of a fault needs it."""
    from importlib.metadata import version  # is read for this alone
    from platform import platform, python_version

    runs_on = f"Python {python_version()}, Qt {qVersion()}, {platform()}"
    said = f"Tilescope {version('tilescope')}, {runs_on}"
    window.message.tell(f"{said}.", "Copy", lambda: QGuiApplication.clipboard().setText(said))


def _fill_menu(menu: QMenu, commands: Iterable[Command], window: QWidget) -> dict[str, QMenu]:
    """Put commands into a menu; their shortcuts work in the whole window. Returns its submenus."""
    submenus: dict[str, QMenu] = {}
    for command in commands:
        place = submenus.get(command.under, menu)
        if command.line:
            place.addSeparator()
        if command.under and place is menu:
            place = submenus[command.under] = menu.addMenu(command.under)
        place.addAction(_action(command, window, place))
        if command.tip:
            place.setToolTipsVisible(True)
    return submenus


def _action(command: Command, window: QWidget, menu: QMenu) -> QAction:
    action = QAction(command.text, window)
    action.setShortcuts([QKeySequence(key) for key in command.keys])
    action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
    if command.tip:
        action.setStatusTip(command.tip)
        action.setToolTip(command.tip)
    action.triggered.connect(lambda _=False: command.run())
    checked = command.checked
    if checked is not None:
        action.setCheckable(True)
        menu.aboutToShow.connect(lambda: action.setChecked(checked()))
    says = command.says
    if says is not None:
        menu.aboutToShow.connect(lambda: action.setText(says()))
    return action


# -- each menu ------------------------------------------------------------------------------------


def _file_commands(window: Window, do: Commands) -> list[Command]:
    return [
        Command("Open a kernel…", "Ctrl+O", do.workbench.ask_for_file),
        Command("Save the source", "Ctrl+S", do.workbench.save_source),
        Command("Save the source as…", "Ctrl+Shift+S", do.workbench.save_source_as),
        Command(
            "Export a picture…",
            "Ctrl+Shift+E",
            do.pictures.ask_and_export,
            "Of the window, or of any view of any page",
            line=True,
        ),
        Command(
            "Export the steps…",
            "Ctrl+Alt+E",
            do.exporting.ask_and_export,
            "As a page that replays them in a browser, or as a film",
        ),
        Command(
            "Export a report…",
            "Ctrl+Alt+R",
            do.exporting.ask_and_report,
            "The launch, its counters and its findings, as a page or Markdown",
        ),
        Command(
            "Export questions…",
            "Ctrl+Alt+Q",
            partial(_export_questions, do),
            "Of lessons: a worksheet with its key, or a question bank",
        ),
        Command("Open a link…", "Ctrl+L", do.moments.ask_for_link, line=True),
        Command("Open a lesson…", "Ctrl+Alt+L", do.teaching.ask_for_file),
        Command(
            "Present the lesson",
            "Shift+F5",
            do.presenting.toggle,
            "To a room: PgDown reveals and goes on, letters are votes",
            checked=lambda: do.presenting.on,
        ),
        Command("Notes of the presented lesson", "Ctrl+N", do.presenting.toggle_notes),
        *_moment_commands(do.lecture),
        Command(
            "Make a lesson of the moments…",
            "Ctrl+Alt+K",
            lambda: do.teaching.make_of_moments(do.lecture.moments),
            "A question for each moment, in a file that is yours to go on with",
            under=LIST,
        ),
        Command("Quit", "Ctrl+Q", window.close, line=True),
    ]


def _moment_commands(lecture: Lecture) -> list[Command]:
    def entry(text: str, key: str, run: Callable[[], object], *, line: bool = False) -> Command:
        return Command(text, key, run, line=line, under=LIST)

    return [
        entry("Next moment", "Ctrl+PgDown", partial(lecture.go, 1), line=True),
        entry("Previous moment", "Ctrl+PgUp", partial(lecture.go, -1)),
        entry("Save this moment…", "Ctrl+Shift+M", lecture.save_this, line=True),
        entry("Take the moment away", "Ctrl+Shift+Del", lecture.remove),
        entry("Clear the list", "Ctrl+Alt+M", lecture.clear),
        entry("Bring the list back as it was", "Ctrl+Alt+Z", lecture.undo),
        entry("Open a list of moments…", "Ctrl+Shift+L", lecture.ask_for_list, line=True),
        entry("Save the list of moments…", "Ctrl+Shift+K", lecture.save_list),
    ]


def _edit_commands(do: Commands) -> list[Command]:
    bench = do.workbench
    return [
        Command("Undo", "Ctrl+Z", bench.undo),
        Command("Redo", "Ctrl+Shift+Z Ctrl+Y", bench.redo),
        Command("Edit the source", "F2 Ctrl+E", bench.edit_source, line=True),
        Command("Run the edited source", "Ctrl+Return Ctrl+Enter", bench.run_source),
        Command("Original source", "Ctrl+Shift+O", bench.run_original),
        Command("Copy link", "Ctrl+Shift+C", do.moments.copy_link, line=True),
        Command(
            "Copy link with instructions",
            "Ctrl+Alt+I",
            do.moments.copy_instructions,
            "For people who do not have the application",
        ),
        Command(
            "Copy a picture of the view",
            "Ctrl+Alt+C",
            do.pictures.copy_view,
            "Of the one in focus, else in front: to be pasted into slides",
        ),
        Command("Copy a picture of the window", "Ctrl+Alt+Shift+C", do.pictures.copy_window),
    ]


def _step_commands(window: Window, do: Commands) -> list[Command]:
    session = window.session

    def move(go: Callable[..., object], *where: object) -> None:
        session.playing = 0
        go(*where)

    def toggle(direction: int) -> None:
        session.playing = 0 if session.playing else direction

    def speed(factor: float) -> None:
        session.speed *= factor

    seek = partial(move, session.seek)
    return [
        Command("Forward", "Right", partial(seek, None, True)),
        Command("Back", "Left", partial(seek, None, False)),
        Command("Next phase", "Shift+Right", partial(seek, "phase", True)),
        Command("Previous phase", "Shift+Left", partial(seek, "phase", False)),
        Command("Go to step…", "Ctrl+G", do.stopping.ask_for_step, line=True),
        Command("First step", "Home", partial(move, session.first)),
        Command("Last step", "End", partial(move, session.last)),
        Command("Play or pause", "Space", partial(toggle, 1), line=True),
        Command("Play backwards or pause", "Shift+Space", partial(toggle, -1)),
        Command("Faster", "+ =", partial(speed, 1.5)),
        Command("Slower", "-", partial(speed, 1 / 1.5)),
        *(
            Command(
                f"Step by {unit}",
                str(key),
                _set(session, "unit", unit),
                UNIT_TIPS[unit],
                checked=_is(session, "unit", unit),
                line=key == 1,
                row="Step by access, line, barrier, phase",
            )
            for key, unit in enumerate(UNITS, start=1)
        ),
        *(
            _choice(session, "order", name, title, tip, under=WARPS)
            for name, (title, tip) in ORDER_TITLES.items()
        ),
    ]


def _break_commands(do: Commands) -> list[Command]:
    stopping = do.stopping
    touch, run = stopping.go_to_touch, stopping.run_to_break
    return [
        Command("Run to the next breakpoint", "F8", partial(run, forward=True)),
        Command("Run back to a breakpoint", "Shift+F8", partial(run, forward=False)),
        Command("Breakpoint at this line", "F9", stopping.toggle_at_line, line=True),
        Command("Breakpoint at the selected element", "Shift+F9", stopping.toggle_at_element),
        Command("Clear all breakpoints", "Ctrl+Shift+F9", stopping.clear),
        Command("Next step at the selected line", "N", stopping.next_at_line, line=True),
        Command("Next touch of the selected element", "T", partial(touch, forward=True)),
        Command("Previous touch of the selected element", "Shift+T", partial(touch, forward=False)),
    ]


def _select_commands(window: Window, do: Commands) -> list[Command]:
    session, stopping = window.session, do.stopping

    def change(name: str, by: int) -> None:
        setattr(session, name, getattr(session, name) + by)

    def next_of(name: str, by: int) -> None:
        now, count = getattr(session, name), most_of(session, name)
        if count:
            setattr(session, name, (now + by) % count if now is not None else 0)

    def answer() -> None:
        sentence = answer_with_selection(session)
        if sentence:
            window.message.tell(sentence)

    return [
        *(
            Command(f"{way} {name}", held + key, partial(change, name, by))
            for name, held in (("thread", ""), ("warp", "Shift+"), ("block", "Ctrl+"))
            for way, key, by in (("Next", "Down", 1), ("Previous", "Up", -1))
        ),
        *(
            Command(f"{way} line", key, partial(stopping.choose_line, forward=down), row=LINES)
            for way, key, down in (("Next", "Alt+Down", True), ("Previous", "Alt+Up", False))
        ),
        Command("Select an element…", "E", stopping.ask_for_element, line=True),
        *(
            Command(f"{way} {name}", key, partial(next_of, name, by), row=f"Select a {name}")
            for name, letter in (("bank", "K"), ("sector", "S"))
            for way, key, by in (("Next", letter, 1), ("Previous", f"Shift+{letter}", -1))
        ),
        Command("Answer with what is selected", "P", answer),
        Command(
            "Next kernel",
            "PgDown",
            partial(do.turn, 1),
            "In a lesson: the next question",
            line=True,
        ),
        Command("Previous kernel", "PgUp", partial(do.turn, -1), "In a lesson: the one before"),
        Command("Stop recording", "Ctrl+.", do.workbench.waiting.stop, line=True),
        Command("End editing, back to the picture", "Escape", do.leave_field),
    ]


# -- the View menu: pages, how the matrices are shown, views, layout, text and theme ---------------


def _pages(window: Window) -> list[Command]:
    return [
        Command(
            page.title,
            f"Ctrl+{place}",
            partial(window.look_at_page, page.key),
            checked=_is(window.session, "page", page.key),
            line=place == 1,
            row="The pages, from left to right",
        )
        for place, page in enumerate(PAGES, start=1)
    ]


SWITCHES = (
    ("heat", "Times loaded", "H", "Instead of what the step touches"),
    ("close_up", "The block alone", "Z", "Not the whole matrices"),
    ("warp_trail", "Read so far by the whole warp", "R", "Not by the thread alone"),
    ("follow_memory", "Follow the step's memory", "Ctrl+M", "What a step accesses comes in front"),
)
"""Settings of the session that a key turns on and off."""


def _matrices(window: Window) -> list[Command]:
    session = window.session

    def turn(name: str) -> None:
        session.update(**{name: not getattr(session, name)})

    return [
        Command(text, key, partial(turn, name), tip, _is(session, name, True), line=name == "heat")
        for name, text, key, tip in SWITCHES
    ]


def _set(session: Session, name: str, value: object) -> Callable[[], None]:
    return lambda: session.update(**{name: value})


def _is(session: Session, name: str, value: object) -> Callable[[], bool]:
    return lambda: bool(getattr(session, name) == value)


def _choice(
    session: Session, name: str, value: object, text: str, tip: str = "", **more: Any
) -> Command:
    """Gives a setting of the session one of its values, without a key."""
    return Command(text, "", _set(session, name, value), tip, _is(session, name, value), **more)


def _keys(place: int, row: StepView) -> str:
    """Alt with the number of the view's place, of the first ten, and the key of its row if any."""
    numbered = f"Alt+{(place + 1) % 10}" if place < 10 else ""
    return f"{numbered} {row.key}"


def _layout(window: Window, do: Commands) -> list[Command]:
    page = window.step_page
    return [
        *(
            Command(
                page.docks[row.name].windowTitle(),
                _keys(place, row),
                partial(_look_at, window, row.name),
                checked=partial(page.in_front, row.name),
                line=place == 0,
                under=GROUP,
                row="The views, as the View menu lists them",
            )
            for place, row in enumerate(VIEWS)
        ),
        Command(
            "One view large",
            "F10",
            do.enlarging.toggle,
            "The view in focus over the whole page, or all of them again",
            checked=lambda: window.session.large,
        ),
        Command(
            "Left column",
            "Ctrl+B",
            window.left_column.toggle,
            checked=lambda: not window.left.isHidden(),
        ),
        Command(
            "Full screen", "F11", partial(toggle_full_screen, window), checked=window.isFullScreen
        ),
        Command("Reset the layout", "Ctrl+0", page.reset_layout),
    ]


def _look(window: Window) -> list[Command]:
    session, resize = window.session, partial(change_text_size, window.session)
    normal = _set(session, "text_size", NORMAL)
    sizes = [
        Command("Larger text", "Ctrl++ Ctrl+=", partial(resize, 1), line=True, under=LOOK),
        Command("Smaller text", "Ctrl+-", partial(resize, -1), under=LOOK),
        Command("Normal text size", "Ctrl+Shift+T", normal, under=LOOK),
        Command("Next theme", "Ctrl+T", partial(next_theme, session), under=LOOK),
    ]
    themes = [
        _choice(
            session, "theme", name, f"{load_theme(name).title} theme", line=place == 0, under=LOOK
        )
        for place, name in enumerate(theme_names())
    ]
    return [*sizes, *themes]


def _look_at(window: Window, name: str) -> None:
    """Bring a view to the front: in the comparison, if that is open and has it."""
    if window.session.page == "compare" and name in DOCKS:
        window.session.compared_view = DOCKS[name]
    else:
        window.show_page("step")
        window.step_page.front(name)


DOCKS = {"Matrices": "Matrices", "Warp": "Global", "Shared": "Shared", "Source": "Source"}
DOCKS |= {"Counters": "Counters"}
"""Views of the step page that a comparison has too, by the names of both."""


# -- the Compare menu -----------------------------------------------------------------------------


def _compare_commands(window: Window, profiling: Profiling) -> list[Command]:
    """Everything that can be done with a comparison; each shows its page first."""

    def on_page(act: Callable[[ComparePage], object]) -> Callable[[], object]:
        return lambda: act(compare_page(window))

    def example(preset: Preset) -> Callable[[], object]:
        return on_page(lambda page: page.comparing.show_preset(preset))

    return [
        Command("Compare with its counterpart", "Ctrl+D", on_page(lambda p: p.comparing.suggest())),
        Command(
            "Copy A to B",
            "Ctrl+Shift+D",
            on_page(lambda p: p.comparing.copy_to_b()),
            says=lambda: "Copy {0.a} to {0.b}".format(_naming(window)),
        ),
        Command(
            "Swap A and B",
            "Ctrl+Shift+X",
            on_page(lambda p: p.comparing.swap()),
            says=lambda: "Swap {0.first} and {0.second}".format(_naming(window)),
        ),
        Command("Configure the other side", "Ctrl+J", on_page(lambda p: p.configure_other())),
        Command("Next difference", "D", on_page(lambda p: p.comparing.differing.go()), line=True),
        Command(
            "Previous difference",
            "Shift+D",
            on_page(lambda p: p.comparing.differing.go(forward=False)),
        ),
        Command("Next view of both sides", "V", partial(_next_view, window), line=True),
        Command("Differences by array, or totals", "G", on_page(lambda p: p.toggle_grouping())),
        Command(
            "Compare with a profile…",
            "Ctrl+Alt+P",
            profiling.ask_and_compare,
            "Nsight Compute's counters of this launch, from a CSV file or a report",
            line=True,
        ),
        *(
            Command(preset.title, "", example(preset), preset.lesson, line=preset is PRESETS[0])
            for preset in PRESETS
        ),
    ]


def _naming(window: Window) -> Naming:
    page = window.pages.made("compare")
    return Naming() if page is None else cast("ComparePage", page).comparing.naming


def compare_page(window: Window) -> ComparePage:
    """The page, shown."""
    from gui.shell.compare_page import ComparePage

    window.look_at_page("compare")
    page = window.pages.made("compare")
    assert isinstance(page, ComparePage)
    return page


def _next_view(window: Window) -> None:
    """Have both sides show the next of their views."""
    compare_page(window)
    place = COMPARED_VIEWS.index(window.session.compared_view) + 1
    window.session.compared_view = COMPARED_VIEWS[place % len(COMPARED_VIEWS)]
