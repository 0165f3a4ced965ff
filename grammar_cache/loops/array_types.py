"""Names for the arrays that compiled loops take, by what they hold."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

Flags: TypeAlias = NDArray[np.bool_]
Octets: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.int32]
Longs: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
OctetRows: TypeAlias = Annotated[NDArray[np.uint8], 2]
IntRows: TypeAlias = Annotated[NDArray[np.int32], 2]
LongRows: TypeAlias = Annotated[NDArray[np.int64], 2]
FloatRows: TypeAlias = Annotated[NDArray[np.float64], 2]
ByteRows: TypeAlias = Annotated[NDArray[np.int8], 2]
FrozenOctets: TypeAlias = Annotated[NDArray[np.uint8], types.Array(types.uint8, 1, "C", readonly=True)]
FrozenInts: TypeAlias = Annotated[NDArray[np.int32], types.Array(types.int32, 1, "C", readonly=True)]
