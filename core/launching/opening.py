"""What is shown first of a user's source: a launch, its kernels, what the launched one takes."""

from __future__ import annotations

from core.cuda.signature import SignatureParameter, kernel_names, read_signature
from core.launching.file_launch import FileLaunch, split_defines
from core.launching.launch_guess import complete, guess_launch, refit
from core.launching.local_headers import local_headers


def launch_of(
    source: str, path: str, known: FileLaunch | None, kernel: str | None, is_linked: bool
) -> tuple[FileLaunch, tuple[str, ...], tuple[SignatureParameter, ...]]:
    """A launch of a source, its kernels' names, and the signature of the launched one.

    `known` is a launch to go on from, whose gaps are guessed if `is_linked`; without it one of
    `kernel` is guessed, or of the first. Raises TilescopeError.
    """
    if known is None:
        launch = guess_launch(source, path, kernel)
    else:
        launch = complete(source, known) if is_linked else refit(source, known)
    before = "\n".join(local_headers(source, path).values())
    signature = read_signature(source, launch.kernel, split_defines(launch.defines), before)
    return launch, kernel_names(source), signature
