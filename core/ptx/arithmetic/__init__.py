"""What arithmetic instructions compute: importing it registers all opcodes."""

from core.ptx.arithmetic import comparison, conversion, floating, integer, video

__all__ = ["comparison", "conversion", "floating", "integer", "video"]
