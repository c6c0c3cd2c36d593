"""The strategies for operations on arrays in chunks, one a file."""

from ..planning.strategy import Strategy
from .chunked_call import ChunkedCall
from .dask_builtin import DaskBuiltin
from .eager import Eager
from .host_loop import HostLoop
from .k_loop import KLoop
from .map_blocks import MapBlocks
from .scan_in_chunks import ScanInChunks
from .split_k import SplitK
from .tree_reduce import TreeReduce
from .windows import WindowsInChunks

DASK_BUILTIN = DaskBuiltin()
HOST_LOOP = HostLoop()
MAP_BLOCKS = MapBlocks()
SCAN_IN_CHUNKS = ScanInChunks()
WINDOWS = WindowsInChunks()

# From the most general to the most special; the last feasible one is used.
STRATEGIES: tuple[Strategy, ...] = (
    MAP_BLOCKS,
    WINDOWS,
    DASK_BUILTIN,
    ChunkedCall(),
    SplitK(),
    KLoop(),
    TreeReduce(),
    HOST_LOOP,
    SCAN_IN_CHUNKS,
    Eager(),
)
