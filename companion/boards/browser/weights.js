// Chapter 19 in the browser: least squares, ridge and lasso for f(x) = w1 x + w2 x^2 + b with b free, in closed form, as
// companion.regression finds them. G = X'X and c = X'y are those of centred data.
(() => {
  const { largest, text } = companionBoards.solver;
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
    if (g * k - h * h > 1e-12 * g * k) {
      for (const s of [[1, 1], [1, -1], [-1, 1], [-1, -1]]) {
        const w = ridge(G, [c[0] - s[0] * tau, c[1] - s[1] * tau], 0);
        if (w.every((t, j) => t * s[j] > 0)) found.push(w);
      }
    }
    const value = ([a, b]) => (g * a * a + 2 * h * a * b + k * b * b) / 2 - c[0] * a - c[1] * b + tau * (Math.abs(a) + Math.abs(b));
    return found.reduce((best, w) => (value(w) < value(best) ? w : best));
  };

  // For each weight the tau from which on it is 0. Down from max |c_j| one weight is alone, w_i = (c_i - s tau)/G_ii, until
  // |c_j - G_ij w_i| = tau for the other.
  const zeros = ([g, h, k], c) => {
    const top = Math.max(...c.map(Math.abs)), i = Math.abs(c[0]) >= Math.abs(c[1]) ? 0 : 1, own = i ? k : g;
    if (!(own > 0) || !(top > 0)) return [0, 0];
    const slope = (Math.sign(c[i]) * h) / own, start = c[1 - i] - (h * c[i]) / own;
    const meets = [start / (1 - slope), -start / (1 + slope)].filter((t) => t > 0 && t <= top * (1 + 1e-12));
    const other = meets.length ? Math.max(...meets) : 0;
    return i ? [other, top] : [top, other];
  };

  const solve = ({ points, values: { tau, K }, limits: [left, right] }) => {
    const m = points.length;
    if (!m) return { message: "There must be a point." };
    const mean = (of) => points.reduce((t, p) => t + of(p), 0) / m;
    const features = [([x]) => x, ([x]) => x * x, ([, y]) => y], middle = features.map(mean);
    const [u, v, y] = features.map((of, j) => points.map((p) => of(p) - middle[j])), spread = largest(u) + largest(v);
    const product = (a, b) => a.reduce((t, x, i) => t + x * b[i], 0);
    const G = spread > 1e-13 * (largest(middle) + 1) ? [product(u, u), product(u, v), product(v, v)] : [0, 0, 0];
    const c = G[0] + G[2] > 0 ? [product(u, y), product(v, y)] : [0, 0];
    const whole = (w) => [...w, middle[2] - w[0] * middle[0] - w[1] * middle[1]];
    const found = { least: whole(ridge(G, c, 0)), ridge: whole(ridge(G, c, K)), lasso: whole(lasso(G, c, tau)) };
    const curve = ([a, b, shift]) => Array.from({ length: SAMPLES }, (_, k) => {
      const x = left + ((right - left) * k) / (SAMPLES - 1);
      return a * x + b * x * x + shift;
    });
    return { message: "", solved: true, size: m, ...found, gram: G, zeros: zeros(G, c), curves: Object.values(found).map(curve) };
  };

  const view = ({ least, ridge, lasso, gram: [g, h, k], zeros, curves }, { points, limits: [left, right] }) => {
    const at = (w, x) => w[0] * x + w[1] * x * x + w[2], names = ["middle", "blue", "red"];
    const marks = points.map(([x, y]) => ({ active: true, size: 0, cells: [least, ridge, lasso].map((w) => text(+(y - at(w, x)).toPrecision(3))) }));
    const shapes = curves.map((curve, j) => ["path", names[j], [curve.map((t, i) => [left + ((right - left) * i) / (curve.length - 1), t])]]);
    const round = Array.from({ length: 97 }, (_, i) => [Math.cos((Math.PI * i) / 48), Math.sin((Math.PI * i) / 48)]);
    // Where the squares have the value that they have at w: (w - w0)'G(w - w0) is constant, G = LL'.
    const [a, b, d] = [Math.sqrt(g), h / Math.sqrt(g), Math.sqrt(Math.max(k - (h * h) / g, 0))];
    const ellipse = (w) => {
      const [p, q] = [w[0] - least[0], w[1] - least[1]], size = Math.hypot(a * p + b * q, d * q);
      return round.map(([s, t]) => [least[0] + size * (s / a - (b * t) / (a * d)), least[1] + (size * t) / d]);
    };
    const length = Math.hypot(ridge[0], ridge[1]), sum = Math.abs(lasso[0]) + Math.abs(lasso[1]);
    const far = Math.max(...[least, ridge, lasso].flatMap(([p, q]) => [Math.abs(p), Math.abs(q)]), 1e-3), R = 2 ** Math.ceil(Math.log2(1.2 * far));
    const second = [
      ["path", "inside", [round.map(([s, t]) => [s * length, t * length])]], ["path", "inside", [[[sum, 0], [0, sum], [-sum, 0], [0, -sum]]]],
      ["path", "blue", [round.map(([s, t]) => [s * length, t * length])]], ["path", "red", [[[sum, 0], [0, sum], [-sum, 0], [0, -sum], [sum, 0]]]],
      ["path", "arrow", d > 1e-6 * Math.sqrt(k) ? [ellipse(ridge), ellipse(lasso)] : []],
      ...[least, ridge, lasso].map((w, j) => ["mark", names[j], w]),
    ];
    const facts = [["least squares", least], ["ridge", ridge], ["lasso", lasso]].map(([name, w]) => [`${name} w₁, w₂, b`, w.map(text).join(", ")]);
    facts.push(["‖w‖ of ridge", text(length)], ["|w₁|+|w₂| of lasso", text(sum)]);
    zeros.forEach((t, j) => facts.push([`${"w₁w₂".slice(2 * j, 2 * j + 2)} is 0 from τ`, text(t)]));
    return { marks, shapes, facts, second: { limits: [-R, R, -R, R], shapes: second } };
  };

  companionBoards.kinds.weights = {
    label: "Points and three fitted parabolas: least squares, ridge (dashed) and lasso (dotted)", axes: ["x", "y"],
    head: ["ξ squares", "ξ ridge", "ξ lasso"], adds: [[1, "point", "a"]], colour: () => "grey", solve, view,
    second: "The plane of the weights: the disc of ridge and the diamond of the lasso touch ellipses of equal error", secondEqual: true,
  };
})();
