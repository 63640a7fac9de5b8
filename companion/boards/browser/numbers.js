// Kernels, levels that optimality conditions leave open, and numbers in words: what several boards need.
companionBoards.numbers = (() => {
  const { largest } = companionBoards.solver;
  const inner = (x, y) => x[0] * y[0] + x[1] * y[1];
  const KERNELS = {
    linear: () => inner,
    quadratic: () => (x, y) => (inner(x, y) + 1) ** 2,
    Gaussian: (sigma) => (x, y) => Math.exp(-((x[0] - y[0]) ** 2 + (x[1] - y[1]) ** 2) / (2 * sigma * sigma)),
  };
  const kernelOf = ({ kernel, sigma }) => KERNELS[kernel](sigma);

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
  const middle = ([low, high]) => {
    if (Number.isFinite(low + high)) return low + (high - low) / 2;
    return [low, high].find(Number.isFinite) ?? 0;
  };

  // As Python's format "g" with so many digits.
  const g = (x, digits = 6) => {
    if (!Number.isFinite(x)) return Number.isNaN(x) ? "undefined" : x > 0 ? "∞" : "-∞";
    if (x === 0) return "0";
    const [mantissa, e] = x.toExponential(digits - 1).split("e");
    if (+e >= -4 && +e < digits) return String(+x.toPrecision(digits));
    return `${+mantissa}e${e[0]}${e.slice(1).padStart(2, "0")}`;
  };
  // A kernel sends no NaN; several numbers are a list.
  const text = (x) => {
    if (Array.isArray(x)) return x.map(text).join(", ");
    return typeof x === "number" ? g(Math.abs(x) < 1e-12 ? 0 : x, 4) : String(x ?? "undefined");
  };

  // How a point is drawn: large for a large multiplier, ringed on its margin line, crossed out on the wrong side.
  const marksOf = ({ multipliers, slacks, places }) => multipliers.map((a, i) => ({
    size: Math.abs(a) / (largest(multipliers) || 1), active: a !== 0, ring: places[i] === "type 1",
    cross: places[i] === "misclassified", words: `multiplier ${text(a)}, slack ${text(slacks[i])}, ${places[i]}`,
  }));
  return { kernelOf, sum, snap, interval, middle, marksOf, g, text };
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
