// Chapter 19 in the browser: least squares, ridge and lasso for f(x) = w1 x + w2 x^2 + b with b free, in closed form,
// as companion.regression finds them. G = [G11, G12, G22] = X'X and c = X'y are those of centred data.
(() => {
  const { solver: { dot, largest }, numbers: { sum, text, ridge, shrink, refuse } } = companionBoards;
  const { sample, circle, ellipse, dots } = companionBoards.curves;
  const l1 = (w) => Math.abs(w[0]) + Math.abs(w[1]);
  const square = ([g, h, k], w) => g * w[0] ** 2 + 2 * h * w[0] * w[1] + k * w[1] ** 2; // w'Gw
  const regular = ([g, h, k]) => g * k - h * h > 1e-12 * g * k;

  const centred = (points) => {
    const data = [points.map(([x]) => x), points.map(([x]) => x * x), points.map(([, y]) => y)];
    const mean = data.map((t) => sum(t) / t.length), [u, v, y] = data.map((list, j) => list.map((t) => t - mean[j]));
    const inner = largest(u) + largest(v) > 1e-13 * (largest(mean) + 1) ? dot : () => 0; // equal but for rounding
    return { mean, G: [inner(u, u), inner(u, v), inner(v, v)], c: [inner(u, y), inner(v, y)] };
  };

  // min 1/2 w'Gw - c'w + tau |w|_1: the best of the solutions with given signs that have these signs.
  const lasso = (G, c, tau) => {
    const alone = (own, t) => (own > 0 ? shrink(t, tau) / own : 0);
    const found = [[0, 0], [alone(G[0], c[0]), 0], [0, alone(G[2], c[1])]];
    for (const s of regular(G) ? [[1, 1], [1, -1], [-1, 1], [-1, -1]] : []) {
      const w = ridge(G, c.map((t, j) => t - s[j] * tau), 0);
      if (w.every((t, j) => t * s[j] > 0)) found.push(w);
    }
    const value = (w) => square(G, w) / 2 - dot(c, w) + tau * l1(w);
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
    if (!points.length) refuse("There must be a point.");
    const { mean, G, c } = centred(points), whole = (w) => [...w, mean[2] - w[0] * mean[0] - w[1] * mean[1]];
    return { "least squares": whole(ridge(G, c, 0)), ridge: whole(ridge(G, c, K)), lasso: whole(lasso(G, c, tau)) };
  };

  const view = (result, { points, limits: [left, right] }) => {
    const three = ["least squares", "ridge", "lasso"].map((name) => result[name]), names = ["middle", "blue", "red"];
    const [least, shrunk, sparse] = three, f = (x, w) => w[0] * x + w[1] * x * x + w[2];
    const residuals = ([x, y]) => three.map((w) => +(y - f(x, w)).toPrecision(3));
    const marks = points.map((at) => ({ active: true, size: 0, words: `residuals ${text(residuals(at))}` }));
    const shapes = three.map((w, j) => [names[j], [sample(left, right).map((x) => [x, f(x, w)])]]);
    // The squares have the value that they have at w where (v - least)'G(v - least) is constant.
    const { G, c } = centred(points), from = (w) => square(G, [w[0] - least[0], w[1] - least[1]]);
    const ellipses = regular(G) ? [shrunk, sparse].map((w) => ellipse(least, G, Math.sqrt(Math.max(from(w), 0)))) : [];
    const norm = Math.hypot(shrunk[0], shrunk[1]), reach = l1(sparse), disc = circle([0, 0], norm);
    const diamond = [[reach, 0], [0, reach], [-reach, 0], [0, -reach], [reach, 0]];
    const far = Math.max(...three.map((w) => largest(w.slice(0, 2))), 1e-3), R = 2 ** Math.ceil(Math.log2(1.2 * far));
    const second = [
      ["inside", [disc]], ["inside", [diamond]], ["blue", [disc]], ["red", [diamond]], ["thin", ellipses],
      ...three.map((w, j) => [`${names[j]} dots`, dots([w])]),
      ["text", [0.9 * R, 0.03 * R], "w₁"], ["text", [0.03 * R, 0.92 * R], "w₂"],
    ];
    const [one, two] = zeros(G, c), facts = {
      "least squares w₁, w₂, b": least, "ridge w₁, w₂, b": shrunk, "lasso w₁, w₂, b": sparse, "‖w‖ of ridge": norm,
      "|w₁|+|w₂| of lasso": reach, "w₁ is 0 from τ": one, "w₂ is 0 from τ": two,
    };
    const label = "The plane of the weights: ridge's disc and the diamond of the lasso touch ellipses of equal error";
    return { marks, shapes, facts, second: { label, limits: [-R, R, -R, R], equal: true, shapes: second } };
  };

  companionBoards.kinds.weights = {
    label: "Points and three fitted parabolas: least squares, ridge (dashed) and lasso (dotted)", solve, view,
    call: (points) => ["weight_board", ...[0, 1].map((k) => points.map((t) => t[k]))],
  };
})();
