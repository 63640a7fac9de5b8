// Chapter 19 in the browser: least squares, ridge and lasso for f(x) = w1 x + w2 x^2 + b with b free, in closed form, as
// companion.regression finds them. G = X'X, here [G11, G12, G22], and c = X'y are those of centred data.
(() => {
  const { Refusal, solver: { dot, largest }, numbers: { sum }, curves: { sample, graph, circle } } = companionBoards;
  const SAMPLES = 121;

  // (G + K I) w = c; where that is singular, the solution of smallest norm.
  const ridge = ([g, h, k], c, K) => {
    const det = (g + K) * (k + K) - h * h, size = g + k + 2 * K;
    if (det > 1e-12 * size * size) return [((k + K) * c[0] - h * c[1]) / det, ((g + K) * c[1] - h * c[0]) / det];
    return size > 0 ? c.map((t) => t / size) : [0, 0]; // G has one eigenvalue, its trace, and c is an eigenvector
  };

  // min 1/2 w'Gw - c'w + tau |w|_1: the best of the solutions with given signs that have these signs.
  const lasso = (G, c, tau) => {
    const [g, h, k] = G, soft = (t) => Math.sign(t) * Math.max(Math.abs(t) - tau, 0);
    const found = [[0, 0], [g > 0 ? soft(c[0]) / g : 0, 0], [0, k > 0 ? soft(c[1]) / k : 0]];
    for (const s of g * k - h * h > 1e-12 * g * k ? [[1, 1], [1, -1], [-1, 1], [-1, -1]] : []) {
      const w = ridge(G, c.map((t, j) => t - s[j] * tau), 0);
      if (w.every((t, j) => t * s[j] > 0)) found.push(w);
    }
    const value = ([a, b]) => (g * a * a + 2 * h * a * b + k * b * b) / 2 - c[0] * a - c[1] * b + tau * (Math.abs(a) + Math.abs(b));
    return found.reduce((best, w) => (value(w) < value(best) ? w : best));
  };

  // For each weight the tau from which on it is 0. Down from max |c_j| one weight is alone, w_i = (c_i - s tau)/G_ii, until
  // |c_j - G_ij w_i| = tau for the other.
  const zeros = ([g, h, k], c) => {
    const top = largest(c), i = Math.abs(c[0]) >= Math.abs(c[1]) ? 0 : 1, own = i ? k : g;
    if (!(own > 0) || !(top > 0)) return [0, 0];
    const slope = (Math.sign(c[i]) * h) / own, start = c[1 - i] - (h * c[i]) / own;
    const other = Math.max(0, ...[start / (1 - slope), -start / (1 + slope)].filter((t) => t <= top * (1 + 1e-12)));
    return i ? [other, top] : [top, other];
  };

  const solve = ({ points, values: { tau, K }, limits: [left, right] }) => {
    if (!points.length) throw new Refusal("There must be a point.");
    const data = [([x]) => x, ([x]) => x * x, ([, y]) => y].map((of) => points.map(of)), mean = data.map((t) => sum(t) / t.length);
    const [u, v, y] = data.map((list, j) => list.map((t) => t - mean[j]));
    const G = largest(u) + largest(v) > 1e-13 * (largest(mean) + 1) ? [dot(u, u), dot(u, v), dot(v, v)] : [0, 0, 0];
    const c = G[0] + G[2] > 0 ? [dot(u, y), dot(v, y)] : [0, 0];
    const whole = (w) => [...w, mean[2] - w[0] * mean[0] - w[1] * mean[1]];
    const found = { least: whole(ridge(G, c, 0)), ridge: whole(ridge(G, c, K)), lasso: whole(lasso(G, c, tau)) };
    const curves = Object.values(found).map(([a, b, shift]) => sample(left, right, SAMPLES).map((x) => a * x + b * x * x + shift));
    return { ...found, gram: G, zeros: zeros(G, c), curves };
  };

  const view = ({ least, ridge, lasso, gram: [g, h, k], zeros, curves }, { points, limits }) => {
    const three = [least, ridge, lasso], names = ["middle", "blue", "red"];
    const left = ([x, y], w) => +(y - w[0] * x - w[1] * x * x - w[2]).toPrecision(3);
    const marks = points.map((point) => ({ active: true, size: 0, cells: three.map((w) => left(point, w)) }));
    const shapes = curves.map((values, j) => ["path", names[j], [graph(values, limits)]]);
    // Where the squares have the value that they have at w: (w - w0)'G(w - w0) is constant, G = LL'.
    const [a, b, d] = [Math.sqrt(g), h / Math.sqrt(g), Math.sqrt(Math.max(k - (h * h) / g, 0))];
    const ellipse = (w) => {
      const [p, q] = [w[0] - least[0], w[1] - least[1]], size = Math.hypot(a * p + b * q, d * q);
      return circle((s, t) => [least[0] + size * (s / a - (b * t) / (a * d)), least[1] + (size * t) / d]);
    };
    const length = Math.hypot(ridge[0], ridge[1]), reach = Math.abs(lasso[0]) + Math.abs(lasso[1]);
    const disc = circle((s, t) => [s * length, t * length]), diamond = [[reach, 0], [0, reach], [-reach, 0], [0, -reach], [reach, 0]];
    const far = Math.max(...three.map((w) => largest(w.slice(0, 2))), 1e-3), R = 2 ** Math.ceil(Math.log2(1.2 * far));
    const second = [
      ["path", "inside", [disc]], ["path", "inside", [diamond]], ["path", "blue", [disc]], ["path", "red", [diamond]],
      ["path", "arrow", d > 1e-6 * Math.sqrt(k) ? [ellipse(ridge), ellipse(lasso)] : []],
      ...three.map((w, j) => ["dots", names[j], [w]]),
    ];
    const facts = Object.entries({
      "least squares w₁, w₂, b": least, "ridge w₁, w₂, b": ridge, "lasso w₁, w₂, b": lasso, "‖w‖ of ridge": length,
      "|w₁|+|w₂| of lasso": reach, "w₁ is 0 from τ": zeros[0], "w₂ is 0 from τ": zeros[1],
    });
    return { marks, shapes, facts, second: { limits: [-R, R, -R, R], shapes: second } };
  };

  companionBoards.kinds.weights = {
    label: "Points and three fitted parabolas: least squares, ridge (dashed) and lasso (dotted)", axes: ["x", "y"],
    head: ["ξ squares", "ξ ridge", "ξ lasso"], adds: [[1, "point", "a"]], colour: () => "grey", solve, view,
    second: "The plane of the weights: the disc of ridge and the diamond of the lasso touch ellipses of equal error",
  };
})();
