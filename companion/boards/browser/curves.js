// Curves as lists of points: graphs, circles, and level lines of a function on a grid.
companionBoards.curves = (() => {
  const GRID = 48;
  const sample = (low, high, count = GRID) => Array.from({ length: count }, (_, i) => low + ((high - low) * i) / (count - 1));
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

  // Marching squares. An edge of the grid, from (i, j) to the right or up, is 2 (j GRID + i), and 1 more if up.
  const contours = (values, [left, right, bottom, top], level) => {
    const x = sample(left, right), y = sample(bottom, top), links = new Map();
    const link = (a, b) => links.has(a) ? links.get(a).push(b) : links.set(a, [b]);
    for (let j = 0; j + 1 < GRID; j++) {
      for (let i = 0; i + 1 < GRID; i++) {
        const [a, b, c, d] = [values[j][i] < level, values[j][i + 1] < level, values[j + 1][i + 1] < level, values[j + 1][i] < level];
        if (a === b && b === c && c === d) continue;
        const edge = 2 * (j * GRID + i), cut = [];
        if (a !== b) cut.push(edge);
        if (b !== c) cut.push(edge + 3);
        if (c !== d) cut.push(edge + 2 * GRID);
        if (d !== a) cut.push(edge + 1);
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
