// Chapter 17 in the browser: the Gram matrix, its centred form's eigenvalues and the first kernel principal component,
// as companion.kernels.KernelPCA finds them.
(() => {
  const { Refusal, solver: { times, largest }, numbers: { kernelOf, sum }, curves } = companionBoards;

  // Eigenvalues, and eigenvectors as rows of V, of a symmetric matrix by Jacobi's rotations in cyclic order. They begin
  // with the V of the last time: while a point is dragged, it makes the matrix almost diagonal.
  const rotate = (x, y, c, s) => {
    for (let i = 0; i < x.length; i++) {
      const t = x[i];
      x[i] = c * t - s * y[i];
      y[i] = s * t + c * y[i];
    }
  };
  let V = [];
  const jacobi = (K) => {
    if (V.length !== K.length) V = K.map((row, i) => row.map((_, j) => (i === j ? 1 : 0)));
    const D = V.map((v) => times(V, times(K, v))), size = largest(D.map((row, i) => row[i]));
    const turned = (p, q) => {
      if (Math.abs(D[p][q]) <= 1e-13 * size) return false;
      const h = (D[q][q] - D[p][p]) / (2 * D[p][q]), t = (h < 0 ? -1 : 1) / (Math.abs(h) + Math.hypot(1, h));
      const c = 1 / Math.hypot(1, t);
      rotate(D[p], D[q], c, t * c);
      rotate(V[p], V[q], c, t * c);
      for (const row of D) {
        const a = row[p], b = row[q];
        row[p] = c * (a - t * b);
        row[q] = c * (t * a + b);
      }
      D[p][q] = D[q][p] = 0;
      return true;
    };
    for (let moved = true, sweep = 0; moved && sweep < 30; sweep++) {
      moved = false;
      for (let q = 1; q < D.length; q++) for (let p = 0; p < q; p++) moved = turned(p, q) || moved;
    }
    return D.map((row, i) => row[i]);
  };

  const solve = ({ points, values, limits }) => {
    const n = points.length, kernel = kernelOf(values);
    if (n < 2) throw new Refusal("There must be two points.");
    if (points.every(([x, y]) => x === points[0][0] && y === points[0][1])) {
      throw new Refusal("all points have the same image in feature space: there is no component");
    }
    const gram = points.map((x) => points.map((y) => kernel(x, y)));
    const means = gram.map((row) => sum(row) / n), mean = sum(means) / n;
    const found = jacobi(gram.map((row, i) => Float64Array.from(row, (t, j) => t - means[i] - means[j] + mean)));
    const order = [...found.keys()].sort((i, j) => found[j] - found[i]), top = found[order[0]];
    const first = [...V[order[0]]], sign = Math.sign(first.find((t) => Math.abs(t) >= (1 - 1e-6) * largest(first)));
    const component = first.map((t) => sign * t * Math.sqrt(top)), alpha = component.map((t) => t / top);
    const f = (x) => points.reduce((t, p, i) => t + alpha[i] * (kernel(p, x) - means[i]), 0);
    return {
      gram, component, eigenvalues: order.slice(0, 6).map((i) => (found[i] > 1e-12 * top ? found[i] : 0)),
      share: top / sum(found), field: curves.field(f, limits),
    };
  };

  const view = ({ gram, eigenvalues, share, component, field }, { limits }) => {
    const n = gram.length, most = largest(component), top = Math.max(...gram.map(largest), 1e-300);
    const colour = (t) => (t < 0 ? "red" : "blue");
    const marks = component.map((t) => ({ size: Math.abs(t) / most, active: true, colour: colour(t), cells: [t] }));
    const shapes = [-0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75].map((t) =>
      ["path", t ? `${colour(t)} thin` : "middle", curves.contours(field, limits, t * most)]);
    const tiles = {}; // by colour and shade in steps of a tenth
    const put = (t, i, j) => (tiles[Math.round((10 * t) / top)] ??= []).push([j, n - 1 - i, j + 1, n - i]);
    gram.forEach((row, i) => row.forEach((t, j) => put(t, i, j)));
    const wide = n / eigenvalues.length, high = (t) => (-0.5 + (0.36 * t) / eigenvalues[0]) * n;
    const second = [
      ["text", "", [0, 1.03 * n], "Gram matrix, point by point"],
      ["text", "", [0, -0.1 * n], "eigenvalues of the centred matrix"],
      ...Object.entries(tiles).map(([key, at]) => ["tiles", key < 0 ? "tile minus" : "tile", at, Math.abs(key) / 10]),
      ["tiles", "tile", eigenvalues.map((t, k) => [k * wide, -0.5 * n, (k + 0.8) * wide, high(t)])],
    ];
    const facts = { eigenvalues, "share of the first": share };
    return { marks, shapes, facts, second: { limits: [-0.3 * n, 1.3 * n, -0.5 * n, 1.1 * n], shapes: second } };
  };

  companionBoards.kinds.gram = {
    label: "Points, and level lines of their first kernel principal component", axes: ["x₁", "x₂"], head: ["component"],
    equal: true, solve, view, second: {
      label: "The Gram matrix, darker where two points are more alike, and the eigenvalues of its centred form below",
      equal: true, bare: true,
    },
  };
})();
