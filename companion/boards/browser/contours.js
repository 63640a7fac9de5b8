// Level lines of a function on a grid, by marching squares: short segments, drawn as one path each level.
(() => {
  // The values of f on the grid of the part of the plane that is shown, row by row from below.
  const GRID = 48;
  const at = (low, high) => Array.from({ length: GRID }, (_, i) => low + ((high - low) * i) / (GRID - 1));
  companionBoards.field = (f, [left, right, bottom, top]) => at(bottom, top).map((y) => at(left, right).map((x) => f([x, y])));

  companionBoards.contours = (values, [left, right, bottom, top], levels) => {
    const [x, y] = [at(left, right), at(bottom, top)];
    const lines = Object.fromEntries(Object.keys(levels).map((name) => [name, []]));
    for (const [name, level] of Object.entries(levels)) {
      for (let j = 0; j + 1 < GRID; j++) {
        for (let i = 0; i + 1 < GRID; i++) {
          const corner = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]], cut = [];
          for (let k = 0; k < 4; k++) {
            const [[a, b], [c, d]] = [corner[k], corner[(k + 1) % 4]], [u, v] = [values[b][a] - level, values[d][c] - level];
            if (u < 0 !== v < 0) {
              const t = u / (u - v);
              cut.push([x[a] + t * (x[c] - x[a]), y[b] + t * (y[d] - y[b])]);
            }
          }
          for (let k = 0; k + 1 < cut.length; k += 2) lines[name].push([cut[k], cut[k + 1]]);
        }
      }
      lines[name] = chained(lines[name]);
    }
    return lines;
  };

  // Segments that share an end become one line, so that dashes run on. Ends are compared to a part of a cell.
  const chained = (segments) => {
    const key = ([x, y]) => `${x.toFixed(9)} ${y.toFixed(9)}`, at = new Map(), left = new Set(segments), found = [];
    for (const segment of segments) for (const end of segment) at.set(key(end), [...(at.get(key(end)) ?? []), segment]);
    const next = (end) => (at.get(key(end)) ?? []).find((segment) => left.has(segment));
    for (const first of segments) {
      if (!left.delete(first)) continue;
      const line = [...first];
      for (const turn of [0, 1]) {
        for (let segment = next(line.at(-1)); segment; segment = next(line.at(-1))) {
          left.delete(segment);
          line.push(key(segment[0]) === key(line.at(-1)) ? segment[1] : segment[0]);
        }
        if (!turn) line.reverse();
      }
      found.push(line);
    }
    return found;
  };
})();
