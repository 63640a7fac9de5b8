// Kernels, levels that optimality conditions leave open, and numbers in words: what several boards need.
companionBoards.numbers = (() => {
  const { largest } = companionBoards.solver;
  const inner = (x, y) => x[0] * y[0] + x[1] * y[1];
  const KERNELS = {
    linear: () => inner,
    quadratic: () => (x, y) => (inner(x, y) + 1) ** 2,
    Gaussian: (sigma) => (x, y) => Math.exp(-((x[0] - y[0]) ** 2 + (x[1] - y[1]) ** 2) / (2 * sigma * sigma)),
  };
  const kernelOf = ({ kernel = "linear", sigma }) => KERNELS[kernel](sigma);

  const sum = (x) => x.reduce((t, xi) => t + xi, 0);
  // Multipliers that differ from a bound by rounding only are at the bound.
  const snap = (x, upper) => {
    const top = largest(x);
    return Array.from(x, (t) => (t <= 1e-12 * top ? 0 : upper - t <= 1e-12 * upper ? upper : t));
  };
  // What "g <= level where a = 0, >= where a = K, = between" leaves of a level, and the middle of it.
  const interval = (g, zero, full) => {
    const free = g.filter((_, i) => !zero[i] && !full[i]);
    if (free.length) return Array(2).fill(sum(free) / free.length);
    const low = Math.max(...g.filter((_, i) => full[i])), high = Math.min(...g.filter((_, i) => zero[i]));
    return low > high ? [(low + high) / 2, (low + high) / 2] : [low, high];
  };
  const middle = ([low, high]) =>
    Number.isFinite(low + high) ? low + (high - low) / 2 : Number.isFinite(low) ? low : Number.isFinite(high) ? high : 0;

  // As Python's format "g" with so many digits.
  const g = (x, digits = 6) => {
    if (!Number.isFinite(x)) return Number.isNaN(x) ? "undefined" : x > 0 ? "∞" : "-∞";
    if (x === 0) return "0";
    const [mantissa, e] = x.toExponential(digits - 1).split("e");
    return +e >= -4 && +e < digits ? String(+x.toPrecision(digits)) : `${+mantissa}e${e[0]}${e.slice(1).padStart(2, "0")}`;
  };
  // A kernel sends no NaN; several numbers are a list.
  const text = (x) => (Array.isArray(x) ? x.map(text).join(", ")
    : typeof x === "number" ? g(Math.abs(x) < 1e-12 ? 0 : x, 4) : String(x ?? "undefined"));

  return { kernelOf, sum, snap, interval, middle, g, text };
})();

// The numbers of a board, or the words of a refusal.
companionBoards.Refusal = class extends Error {};
companionBoards.answer = (kind, given) => {
  try {
    return { message: "", solved: true, size: given.points.length, ...companionBoards.kinds[kind].solve(given) };
  } catch (error) {
    if (error instanceof companionBoards.Refusal) return { message: error.message };
    throw error;
  }
};
