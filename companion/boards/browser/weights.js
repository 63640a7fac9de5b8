// Chapter 19 in the browser: least squares, ridge and lasso for f(x) = w1 x + w2 x^2 + b with b free, in closed form,
// as companion.regression finds them. G = [G11, G12, G22] = X'X and c = X'y are those of centred data.
(() => {
  const { Refusal, solver: { dot, largest }, numbers: { sum, text }, curves: { sample, circle } } = companionBoards;
  const l1 = (w) => Math.abs(w[0]) + Math.abs(w[1]);

  const centred = (points) => {
    const data = [points.map(([x]) => x), points.map(([x]) => x * x), points.map(([, y]) => y)];
    const mean = data.map((t) => sum(t) / t.length), [u, v, y] = data.map((list, j) => list.map((t) => t - mean[j]));
    const varied = largest(u) + largest(v) > 1e-13 * (largest(mean) + 1);
    return varied ? { mean, G: [dot(u, u), dot(u, v), dot(v, v)], c: [dot(u, y), dot(v, y)] }
      : { mean, G: [0, 0, 0], c: [0, 0] };
  };

  // (G + K I) w = c; where that is singular, the solution of smallest norm.
  const ridge = ([g, h, k], c, K) => {
    const det = (g + K) * (k + K) - h * h, size = g + k + 2 * K;
    if (det > 1e-12 * size * size) return [((k + K) * c[0] - h * c[1]) / det, ((g + K) * c[1] - h * c[0]) / det];
    return size > 0 ? c.map((t) => t / size) : [0, 0]; // G has one eigenvalue, its trace, and c is an eigenvector
  };

  // min 1/2 w'Gw - c'w + tau |w|_1: the best of the solutions with given signs that have these signs.
  const lasso = (G, c, tau) => {
    const [g, h, k] = G, alone = (t, own) => (own > 0 ? (Math.sign(t) * Math.max(Math.abs(t) - tau, 0)) / own : 0);
    const found = [[0, 0], [alone(c[0], g), 0], [0, alone(c[1], k)]];
    for (const s of g * k - h * h > 1e-12 * g * k ? [[1, 1], [1, -1], [-1, 1], [-1, -1]] : []) {
      const w = ridge(G, c.map((t, j) => t - s[j] * tau), 0);
      if (w.every((t, j) => t * s[j] > 0)) found.push(w);
    }
    const value = (w) => (g * w[0] ** 2 + 2 * h * w[0] * w[1] + k * w[1] ** 2) / 2 - dot(c, w) + tau * l1(w);
    return found.reduce((best, w) => (value(w) < value(best) ? w : best));
  };

  // For each weight the tau from which on it is 0. Down from max |c_j| one weight is alone, w_i = (c_i - s tau)/G_ii,
  // until |c_j - G_ij w_i| = tau for the other.
  const zeros = ([g, h, k], c) => {
    const top = largest(c), i = Math.abs(c[0]) >= Math.abs(c[1]) ? 0 : 1, own = i ? k : g;
    if (!(own > 0) || !(top > 0)) return [0, 0];
    const slope = (Math.sign(c[i]) * h) / own, start = c[1 - i] - (h * c[i]) / own;
    const meets = [start / (1 - slope), -start / (1 + slope)].filter((t) => t <= top * (1 + 1e-12));
    return [top, top].with(1 - i, Math.max(0, ...meets));
  };

  const solve = ({ points, values: { tau, K } }) => {
    if (!points.length) throw new Refusal("There must be a point.");
    const { mean, G, c } = centred(points), whole = (w) => [...w, mean[2] - w[0] * mean[0] - w[1] * mean[1]];
    return {
      "least squares": whole(ridge(G, c, 0)), ridge: whole(ridge(G, c, K)), lasso: whole(lasso(G, c, tau)),
    };
  };

  const view = (result, { points, limits: [left, right] }) => {
    const three = ["least squares", "ridge", "lasso"].map((name) => result[name]), names = ["middle", "blue", "red"];
    const [least, shrunk, sparse] = three, f = (x, w) => w[0] * x + w[1] * x * x + w[2];
    const residuals = ([x, y]) => three.map((w) => +(y - f(x, w)).toPrecision(3));
    const marks = points.map((at) => ({ active: true, size: 0, words: `residuals ${text(residuals(at))}` }));
    const shapes = three.map((w, j) => [names[j], [sample(left, right, 121).map((x) => [x, f(x, w)])]]);
    // Where the squares have the value that they have at w: (w - w0)'G(w - w0) is constant, G = LL'.
    const { G, c } = centred(points), a = Math.sqrt(G[0]), b = G[1] / a, d = Math.sqrt(Math.max(G[2] - b * b, 0));
    const ellipse = (w) => {
      const p = w[0] - least[0], q = w[1] - least[1], size = Math.hypot(a * p + b * q, d * q);
      return circle((s, t) => [least[0] + size * (s / a - (b * t) / (a * d)), least[1] + (size * t) / d]);
    };
    const norm = Math.hypot(shrunk[0], shrunk[1]), reach = l1(sparse), disc = circle((s, t) => [s * norm, t * norm]);
    const diamond = [[reach, 0], [0, reach], [-reach, 0], [0, -reach], [reach, 0]];
    const far = Math.max(...three.map((w) => largest(w.slice(0, 2))), 1e-3), R = 2 ** Math.ceil(Math.log2(1.2 * far));
    const second = [
      ["inside", [disc]], ["inside", [diamond]], ["blue", [disc]], ["red", [diamond]],
      ["thin", d > 1e-6 * Math.sqrt(G[2]) ? [ellipse(shrunk), ellipse(sparse)] : []],
      ...three.map((w, j) => [`${names[j]} dots`, [[w, w]]]),
    ];
    const [one, two] = zeros(G, c), facts = {
      "least squares w₁, w₂, b": least, "ridge w₁, w₂, b": shrunk, "lasso w₁, w₂, b": sparse, "‖w‖ of ridge": norm,
      "|w₁|+|w₂| of lasso": reach, "w₁ is 0 from τ": one, "w₂ is 0 from τ": two,
    };
    return { marks, shapes, facts, second: { limits: [-R, R, -R, R], shapes: second } };
  };

  companionBoards.kinds.weights = {
    label: "Points and three fitted parabolas: least squares, ridge (dashed) and lasso (dotted)", solve, view,
    second: {
      label: "The plane of the weights: the disc of ridge and the diamond of the lasso touch ellipses of equal error",
      equal: true,
    },
    call: (points) => ["weight_board", ...[0, 1].map((k) => points.map((t) => t[k]))],
  };
})();
