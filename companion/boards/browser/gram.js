// Chapter 17 in the browser: the Gram matrix, its centred form's eigenvalues and the first kernel principal component,
// as companion.kernels.KernelPCA finds them.
(() => {
  const { largest, KERNELS, text } = companionBoards.solver;

  // Eigenvalues, and eigenvectors as rows of V, of a symmetric matrix by Jacobi's rotations in cyclic order. K is overwritten.
  const rotate = (x, y, c, s) => {
    for (let i = 0; i < x.length; i++) {
      const t = x[i];
      x[i] = c * t - s * y[i];
      y[i] = s * t + c * y[i];
    }
  };
  const jacobi = (K) => {
    const n = K.length, V = K.map((_, i) => Float64Array.from(K, (_, j) => (i === j ? 1 : 0)));
    const size = Math.max(...K.map((row, i) => Math.abs(row[i])));
    for (let sweep = 0, moved = true; moved && sweep < 30; sweep++) {
      moved = false;
      for (let p = 0; p < n; p++) {
        for (let q = p + 1; q < n; q++) {
          const [a, b, d] = [K[p][p], K[p][q], K[q][q]];
          if (Math.abs(b) <= 1e-17 * size) continue;
          moved = true;
          const h = (d - a) / (2 * b), t = (h < 0 ? -1 : 1) / (Math.abs(h) + Math.hypot(1, h)), c = 1 / Math.hypot(1, t);
          rotate(K[p], K[q], c, t * c); // the rows; the columns are the same by symmetry
          for (let i = 0; i < n; i++) {
            K[i][p] = K[p][i];
            K[i][q] = K[q][i];
          }
          K[p][p] = a - t * b;
          K[q][q] = d + t * b;
          K[p][q] = K[q][p] = 0;
          rotate(V[p], V[q], c, t * c);
        }
      }
    }
    return [K.map((row, i) => row[i]), V];
  };

  const solve = ({ points, values, limits }) => {
    const n = points.length;
    if (n < 2) return { message: "There must be two points." };
    const kernel = KERNELS[values.kernel](values.sigma), K = points.map((x) => points.map((y) => kernel(x, y)));
    const means = K.map((row) => row.reduce((t, x) => t + x, 0) / n), mean = means.reduce((t, x) => t + x, 0) / n;
    const same = points.every(([x, y]) => x === points[0][0] && y === points[0][1]);
    if (same) return { message: "all points have the same image in feature space: there is no component" };
    const [found, V] = jacobi(K.map((row, i) => Float64Array.from(row, (t, j) => t - means[i] - means[j] + mean)));
    const order = [...found.keys()].sort((i, j) => found[j] - found[i]), top = found[order[0]], first = [...V[order[0]]];
    const lead = first.find((t) => Math.abs(t) >= (1 - 1e-6) * largest(first)), sign = Math.sign(lead);
    const alpha = first.map((t) => (sign * t) / Math.sqrt(top)), total = found.reduce((t, x) => t + x, 0);
    const f = (x) => points.reduce((t, p, i) => t + alpha[i] * (kernel(p, x) - means[i]), 0);
    return {
      message: "", solved: true, size: n, gram: K, eigenvalues: order.slice(0, 6).map((i) => (found[i] > 1e-12 * top ? found[i] : 0)),
      share: top / total, component: first.map((t) => sign * t * Math.sqrt(top)), field: companionBoards.field(f, limits),
    };
  };

  const view = ({ gram, eigenvalues, share, component, field }, { limits }) => {
    const n = gram.length, most = Math.max(...component.map(Math.abs)), top = Math.max(...gram.flat().map(Math.abs), 1e-300);
    const marks = component.map((t) => ({ size: Math.abs(t) / most, active: true, colour: t < 0 ? "red" : "blue", cells: [text(t)] }));
    const levels = Object.fromEntries([-0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75].map((t) => [t, t * most]));
    const curves = companionBoards.contours(field, limits, levels);
    const shapes = Object.entries(curves).map(([t, found]) => ["path", +t === 0 ? "middle" : `${t < 0 ? "red" : "blue"} thin`, found]);
    const tiles = new Map(); // by colour and shade in steps of a tenth
    gram.forEach((row, i) => row.forEach((t, j) => {
      const key = Math.round((10 * t) / top);
      if (!tiles.has(key)) tiles.set(key, []);
      tiles.get(key).push([j, n - 1 - i, j + 1, n - i]);
    }));
    const wide = n / eigenvalues.length, bars = eigenvalues.map((t, k) => [k * wide, -0.5 * n, (k + 0.8) * wide, (-0.5 + (0.36 * t) / eigenvalues[0]) * n]);
    const second = [
      ["text", "", [0, 1.03 * n], "Gram matrix, point by point"], ["text", "", [0, -0.1 * n], "eigenvalues of the centred matrix"],
      ...[...tiles].map(([key, found]) => ["tiles", key < 0 ? "tile minus" : "tile", found, Math.abs(key) / 10]), ["tiles", "tile", bars, 1],
    ];
    const facts = [["eigenvalues", eigenvalues.map(text).join(", ")], ["share of the first", text(share)]];
    return { marks, shapes, facts, second: { limits: [0, n, -0.5 * n, 1.1 * n], shapes: second } };
  };

  companionBoards.kinds.gram = {
    label: "Points, and level lines of their first kernel principal component", axes: ["x₁", "x₂"], head: ["component"],
    adds: [[1, "point", "a"]], colour: () => "grey", equal: true, solve, view, bare: true, secondEqual: true,
    second: "The Gram matrix, darker where two points are more alike, and below it the eigenvalues of its centred form",
  };
})();
