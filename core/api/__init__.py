"""The public API, which an installed wheel offers as `import tilescope`.

    import numpy as np
    import tilescope

    t = tilescope.trace("saxpy.cu", grid=8, block=128, x=np.ones(1000, np.float32))
    t.counters["global_ld_sectors"], t.findings, t.accesses()

`docs/api.md` explains it. What stands in `__all__` keeps its names and meanings from one minor
version to the next.
"""

from core.api.trace_api import ACCESS, Record
from core.api.tracing import load, rungs, trace
from core.errors import TilescopeError

__all__ = ["ACCESS", "Record", "TilescopeError", "load", "rungs", "trace"]
