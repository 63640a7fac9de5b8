// Curves as lists of points: ellipses, and level lines of a function on a grid.
companionBoards.curves = (() => {
  const GRID = 48;
  const sample = (low, high, n = 241) => Array.from({ length: n }, (_, i) => low + ((high - low) * i) / (n - 1));
  // (x - centre)'G(x - centre) = size^2 for G = [G11, G12, G22] = LL', which is a circle of L'(x - centre).
  const ellipse = (centre, [g, h, k], size) => {
    const a = Math.sqrt(g), b = h / a, d = Math.sqrt(Math.max(k - b * b, 0));
    return sample(0, 2 * Math.PI, 97).map((t) => {
      const p = size * Math.cos(t), q = (size * Math.sin(t)) / d;
      return [centre[0] + (p - b * q) / a, centre[1] + q];
    });
  };
  const circle = (centre, radius) => ellipse(centre, [1, 0, 1], radius);
  const dots = (list) => list.map((at) => [at, at]);

  // The values of f on the grid of the part of the plane that is shown, row by row from below.
  const field = (f, [left, right, bottom, top]) => {
    const x = sample(left, right, GRID);
    return sample(bottom, top, GRID).map((y) => x.map((t) => f([t, y])));
  };

  // Marching squares, with what is below the level on the left: each edge that a line enters has one that it
  // leaves by. The edge of the grid from (i, j) to the right is 2 (j GRID + i), the one up is 1 more.
  const contours = (values, [left, right, bottom, top], level) => {
    const below = values.map((row) => row.map((t) => t < level)), after = new Map();
    for (let j = 0; j + 1 < GRID; j++) {
      for (let i = 0; i + 1 < GRID; i++) {
        const low = [below[j][i], below[j][i + 1], below[j + 1][i + 1], below[j + 1][i]];
        const edge = 2 * (j * GRID + i), edges = [edge, edge + 3, edge + 2 * GRID, edge + 1];
        for (let k = 0; k < 4; k++) {
          if (!low[k] || low[(k + 1) % 4]) continue;
          const turn = [1, 2, 3].find((m) => low[(k + m + 1) % 4]);
          after.set(edges[k], edges[(k + turn) % 4]);
        }
      }
    }
    const x = sample(left, right, GRID), y = sample(bottom, top, GRID);
    const at = (edge) => {
      const up = edge % 2, i = (edge >> 1) % GRID, j = Math.floor(edge / 2 / GRID);
      const u = values[j][i] - level, v = values[j + up][i + 1 - up] - level, t = u / (u - v);
      return up ? [x[i], y[j] + t * (y[j + 1] - y[j])] : [x[i] + t * (x[i + 1] - x[i]), y[j]];
    };
    // Lines from end to end, so that dashes run on; then those that close.
    const reached = new Set(after.values()), ends = [...after.keys()].filter((edge) => !reached.has(edge));
    return [...ends, ...after.keys()].flatMap((first) => {
      const line = [first];
      for (let edge = first; after.has(edge); edge = line.at(-1)) {
        line.push(after.get(edge));
        after.delete(edge);
      }
      return line.length > 1 ? [line.map(at)] : [];
    });
  };

  return { sample, ellipse, circle, dots, field, contours };
})();
