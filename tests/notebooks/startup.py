"""What each kernel runs first: its libraries are a million objects, and none of them is garbage."""

import gc

gc.set_threshold(100_000, 20, 20)
del gc
