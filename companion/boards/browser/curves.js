// Curves as lists of points: graphs, circles, and level lines of a function on a grid.
companionBoards.curves = (() => {
  const GRID = 48;
  const sample = (low, high, n = GRID) => Array.from({ length: n }, (_, i) => low + ((high - low) * i) / (n - 1));
  const graph = (values, [left, right], shift = 0) => {
    const x = sample(left, right, values.length);
    return values.map((y, i) => [x[i], y + shift]);
  };
  const circle = (map) => sample(0, 2 * Math.PI, 97).map((t) => map(Math.cos(t), Math.sin(t)));

  // The values of f on the grid of the part of the plane that is shown, row by row from below.
  const field = (f, [left, right, bottom, top]) => {
    const x = sample(left, right);
    return sample(bottom, top).map((y) => x.map((t) => f([t, y])));
  };

  // Marching squares. The edge of the grid from (i, j) to the right is 2 (j GRID + i), the one up is 1 more.
  const contours = (values, [left, right, bottom, top], level) => {
    const x = sample(left, right), y = sample(bottom, top), links = new Map();
    const link = (a, b) => links.has(a) ? links.get(a).push(b) : links.set(a, [b]);
    const below = values.map((row) => row.map((t) => t < level));
    for (let j = 0; j + 1 < GRID; j++) {
      for (let i = 0; i + 1 < GRID; i++) {
        const corners = [below[j][i], below[j][i + 1], below[j + 1][i + 1], below[j + 1][i]];
        const edge = 2 * (j * GRID + i), edges = [edge, edge + 3, edge + 2 * GRID, edge + 1];
        const cut = edges.filter((_, k) => corners[k] !== corners[(k + 1) % 4]);
        for (let k = 0; k < cut.length; k += 2) {
          link(cut[k], cut[k + 1]);
          link(cut[k + 1], cut[k]);
        }
      }
    }
    const at = (edge) => {
      const up = edge % 2, i = (edge >> 1) % GRID, j = Math.floor(edge / 2 / GRID);
      const u = values[j][i] - level, v = values[j + up][i + 1 - up] - level, t = u / (u - v);
      return up ? [x[i], y[j] + t * (y[j + 1] - y[j])] : [x[i] + t * (x[i + 1] - x[i]), y[j]];
    };
    // Chains of edges, so that dashes run on: first those with ends, then those that close.
    const lines = [];
    for (const first of [...links.keys()].sort((a, b) => links.get(a).length - links.get(b).length)) {
      const chain = [first];
      for (let next = links.get(first).pop(); next !== undefined; next = links.get(next).pop()) {
        links.get(next).splice(links.get(next).indexOf(chain.at(-1)), 1);
        chain.push(next);
      }
      if (chain.length > 1) lines.push(chain.map(at));
    }
    return lines;
  };

  return { sample, graph, circle, field, contours };
})();
