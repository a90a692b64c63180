"""Nsight Compute's counters beside those that are counted here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.rules.counters import COUNTERS, SPACES, WAYS
from gui.scenes.configuration import Profile
from gui.scenes.numbers_and_sentences import capital, grouped, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.nsight import Compared


@dataclass(frozen=True)
class ProfileRow:
    """One figure of both: of the whole launch, or of a source line where `line` is set.

    `why` says why they differ, as far as that is known; "" where they are equal, and of lines.
    """

    place: str
    what: str
    ours: int
    theirs: float
    why: str = ""
    line: int | None = None

    @property
    def equal(self) -> bool:
        """Whether both are the same."""
        return self.ours == self.theirs

    @property
    def difference(self) -> str:
        """Nsight's less ours, with its sign; "=" for none."""
        by = self.theirs - self.ours
        return "=" if not by else f"{'+' if by > 0 else '−'}{grouped(round(abs(by)))}"

    @property
    def name(self) -> str:
        """The place and what is counted there."""
        return f"{capital(self.place)}, {self.what}"

    @property
    def sentence(self) -> str:
        """The row in words, and the reason for a difference."""
        both = f"{grouped(self.ours)} here and {grouped(round(self.theirs))} by Nsight Compute"
        said = f"{self.name}: {both}"
        if self.equal:
            return f"{said}."
        return f"{said}: {self.why}." if self.why else f"{said}."


def profile_rows(profile: Profile) -> tuple[ProfileRow | str, ...]:
    """Every figure that the profile has and either counts, each part under its heading."""
    found: list[ProfileRow | str] = []
    for name, space in SPACES.items():
        rows = list(_totals(profile, name))
        found += [f"{space.title}, the whole launch", *rows] if rows else []
    lines = [
        ProfileRow(f"line {one.line}", one.what, one.ours, one.theirs, "", one.line)
        for one in profile.comparison.lines
    ]
    found += ["By source line", *lines] if lines else []
    return tuple(found)


def _totals(profile: Profile, space: str) -> Iterator[ProfileRow]:
    by_way = sorted(profile.comparison.counters, key=lambda c: list(WAYS).index(_way(c)))
    for one in by_way:
        measure = COUNTERS[one.name].measure
        if measure.space == space and one.theirs is not None and (one.ours or one.theirs):
            way = WAYS[_way(one)]
            place = f"{space} {way if way.endswith('s') else f'{way}s'}"
            yield ProfileRow(place, measure.noun, one.ours, one.theirs, one.why)


def _way(one: Compared) -> str:
    return COUNTERS[one.name].way


def first_difference(rows: tuple[ProfileRow | str, ...]) -> ProfileRow | None:
    """The first row whose figures differ."""
    return next((r for r in rows if isinstance(r, ProfileRow) and not r.equal), None)


def profile_caption(profile: Profile, row: ProfileRow | None = None) -> str:
    """How many figures agree, of which build, and of a `row` both figures and the reason."""
    comparison = profile.comparison
    there = [one for one in comparison.counters if one.theirs is not None]
    equal, same = (sum(one.equal for one in both) for both in (there, comparison.lines))
    parts = [
        f"{profile.file}, launch {comparison.profiled.number}, beside the build "
        f"{comparison.build.replace('_', ' ')}: {_agree(equal, len(there), 'counter')} equal"
    ]
    if comparison.lines:
        parts.append(f", and {_agree(same, len(comparison.lines), 'figure')} by line")
    lacking = len(comparison.missing)
    if lacking:
        parts.append(f"; it lacks {plural(lacking, 'counter')}")
    if comparison.more:
        parts.append(f"; {comparison.more} more of its launches fit, and the first is shown")
    said = ""
    if row is not None:
        said = f"{row.name}: {row.why}." if row.why else row.sentence
    notes = comparison.notes if not said else ()
    return " ".join(filter(None, ("".join(parts) + ".", said, *notes)))


def _agree(equal: int, count: int, what: str) -> str:
    if equal < count:
        return f"{equal} of {plural(count, what)}"
    return f"all {plural(count, what)}" if count > 1 else f"the one {what}"
