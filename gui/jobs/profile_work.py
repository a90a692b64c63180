"""The work of setting a profile of Nsight Compute beside a launch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.cancelling import within
from gui.jobs.record_work import COUNTING_S

if TYPE_CHECKING:
    from core.launch import Workload
    from gui.background.work import Progress
    from gui.scenes.profile import Profile


def profile_job(progress: Progress, path: Path, workload: Workload) -> Profile:
    """Reads a profile, counts the launch and compares; gives a `gui.scenes.profile.Profile`.

    The build is the one whose counters agree with more of the profile's. Raises TilescopeError.
    """
    from core.nsight.comparison import compare, read_profile
    from gui.scenes.profile import Profile

    launches = read_profile(path)
    with within(2 * COUNTING_S, f"The launch was not counted within {2 * COUNTING_S:.0f} s."):
        return Profile(compare(launches, workload, progress=progress), workload, path.name)
