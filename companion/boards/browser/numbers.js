// Kernels, levels that optimality conditions leave open, weights in the plane, and words: what several boards need.
companionBoards.numbers = (() => {
  const { largest } = companionBoards.solver;
  const inner = (x, y) => x[0] * y[0] + x[1] * y[1];
  const KERNELS = {
    linear: () => inner,
    quadratic: () => (x, y) => (inner(x, y) + 1) ** 2,
    Gaussian: (sigma) => (x, y) => Math.exp(-((x[0] - y[0]) ** 2 + (x[1] - y[1]) ** 2) / (2 * sigma * sigma)),
  };
  // The kernel k of a board, its Gram matrix, and x -> sum_i a_i k(x_i, x) + c.
  const kernelOf = ({ kernel, sigma }, points) => {
    const k = KERNELS[kernel](sigma);
    const expansion = (a, c) => (x) => points.reduce((t, xi, i) => (a[i] ? t + a[i] * k(xi, x) : t), c);
    return { gram: points.map((x) => Float64Array.from(points, (y) => k(x, y))), expansion };
  };

  const sum = (x) => x.reduce((t, xi) => t + xi, 0);
  // Multipliers that differ from a bound by rounding only are at the bound.
  const snap = (x, upper) => {
    const top = largest(x);
    return Array.from(x, (t) => (t <= 1e-12 * top ? 0 : upper - t <= 1e-12 * upper ? upper : t));
  };
  // What is left of a level that is g where side = 0, at least g where side = 1 and at most g where side = -1.
  const interval = (g, side) => {
    const of = (t) => g.filter((_, i) => side[i] === t), free = of(0);
    if (free.length) return Array(2).fill(sum(free) / free.length);
    const low = Math.max(...of(1)), high = Math.min(...of(-1));
    return low > high ? Array(2).fill((low + high) / 2) : [low, high];
  };
  const middle = ([a, b]) => (Number.isFinite(a + b) ? a + (b - a) / 2 : [a, b].find(Number.isFinite) ?? 0);

  // For G = [G11, G12, G22]: (G + K I) w = c; where that is singular, the solution of smallest norm.
  const ridge = ([g, h, k], c, K) => {
    const det = (g + K) * (k + K) - h * h, size = g + k + 2 * K;
    if (det > 1e-12 * size * size) return [((k + K) * c[0] - h * c[1]) / det, ((g + K) * c[1] - h * c[0]) / det];
    return size > 0 ? c.map((t) => t / size) : [0, 0]; // G has one eigenvalue, its trace, and c is an eigenvector
  };
  const shrink = (t, tau) => Math.sign(t) * Math.max(Math.abs(t) - tau, 0);

  // As Python's format "g" with so many digits.
  const g = (x, digits = 6) => {
    if (!Number.isFinite(x)) return Number.isNaN(x) ? "undefined" : x > 0 ? "∞" : "-∞";
    const [mantissa, e] = x.toExponential(digits - 1).split("e");
    if (+e >= -4 && +e < digits) return String(+x.toPrecision(digits));
    return `${+mantissa}e${e[0]}${e.slice(1).padStart(2, "0")}`;
  };
  // Several numbers are a list.
  const text = (x) => (Array.isArray(x) ? x.map(text).join(", ")
    : typeof x === "number" ? g(Math.abs(x) < 1e-12 ? 0 : x, 4) : String(x ?? "undefined"));

  // How a point is drawn: large for a large multiplier, ringed on its margin line, crossed out on the wrong side.
  const marksOf = ({ multipliers, slacks, places }) => multipliers.map((a, i) => ({
    size: Math.abs(a) / (largest(multipliers) || 1), active: a !== 0, ring: places[i] === "type 1",
    cross: places[i] === "misclassified", words: `multiplier ${text(a)}, slack ${text(slacks[i])}, ${places[i]}`,
  }));
  // Blue and red points at the bound, and those with a multiplier, which is a > 0 for blue, -a for red ones.
  const countOf = (a, bound) =>
    [(t) => t >= bound, (t) => t <= -bound, (t) => t > 0, (t) => t < 0].map((test) => a.filter(test).length);
  // A fact like "p_f ≤ ν(p+q)/2 ≤ p_m": failing points, a value and, where the text proves it, points with multiplier.
  const between = (fail, [name, value], have) => {
    const sides = [fail, [name, text(value)], ...(have ? [have] : [])];
    return { [sides.map((side) => side[0]).join(" ≤ ")]: sides.map((side) => side[1]).join(" ≤ ") };
  };
  // Of what the optimality conditions leave open, from where to where.
  const open = (intervals) => Object.fromEntries(Object.entries(intervals).flatMap(([name, [low, high]]) =>
    (high - low > 1e-9 * (Math.abs(low) + Math.abs(high)) ? [[`${name} from, to`, [low, high]]] : [])));
  const refuse = (words) => { throw new companionBoards.Refusal(words); };
  return { kernelOf, sum, snap, interval, middle, ridge, shrink, marksOf, countOf, between, open, refuse, g, text };
})();

// The numbers of a board, or the words of a refusal.
companionBoards.Refusal = class extends Error {};
companionBoards.answer = (kind, given) => {
  try {
    return { message: "", solved: true, ...companionBoards.kinds[kind].solve(given) };
  } catch (error) {
    if (error instanceof companionBoards.Refusal) return { message: error.message };
    throw error;
  }
};
