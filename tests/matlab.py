"""The numbers that a fresh Matlab draws with ``randn``, from the generator: where the stored ones come from.

The 32-bit Mersenne Twister with seed 5489 feeds the ziggurat of Marsaglia and Tsang (2000) with 256 layers. A pair
(a, b) of 32-bit words gives the layer, ``b >> 24``, and a signed fraction of its width from the other 53 bits. If the
point is in the part of the layer that lies under the density, it is the number (98.8 %). Otherwise one more pair
decides: in the wedge, by comparison with the density; in the base strip, by Marsaglia's rejection for the tail.
"""

import math

import numpy as np

R = 3.6541528853610088  # where the tail begins


def density(x):
    return math.exp(-0.5 * x * x)


def layers():
    """The abscissas of the layers, x[0] = 0 < ... < x[255] = R < x[256]; all layers have the same area."""
    area = R * density(R) + math.sqrt(math.pi / 2) * math.erfc(R / math.sqrt(2))
    x = [area / density(R), R]
    while len(x) < 256:
        x.append(math.sqrt(-2 * math.log(density(x[-1]) + area / x[-1])))
    return [0.0, *reversed(x)]


def tail(pairs):
    while True:
        t, e = (-math.log(next(pairs)[2]) / scale for scale in (R, 1.0))
        if 2 * e > t * t:
            return R + t


def stream(count):
    """The first numbers of the stream."""
    twister = np.random.RandomState(5489)  # Matlab seeds in the old way, which only this class has
    shape = (count + count // 16 + 64, 2)  # 1.2 % of the pairs are rejected
    a, b = twister.randint(0, 2**32, size=shape, dtype=np.uint32).T.astype(np.int64)
    fraction = ((a >> 3) * 2**24 + (b & 0xFFFFFF)) * 2.0**-52 - 1  # in [-1, 1)
    uniform = ((a >> 5) * 2**26 + (b >> 6)) * 2.0**-53  # in [0, 1)
    pairs, x, numbers = zip((b >> 24).tolist(), fraction.tolist(), uniform.tolist()), layers(), []
    while len(numbers) < count:
        layer, t, _ = next(pairs)
        z = t * x[layer + 1]
        if abs(z) >= x[layer]:  # not surely under the density
            if layer == 255:
                z = math.copysign(tail(pairs), t)
            else:
                low, high = density(x[layer + 1]), density(x[layer])
                if low + next(pairs)[2] * (high - low) >= density(z):
                    continue
        numbers.append(z)
    return np.array(numbers)
