// Chapter 18 in the browser: dual program, w, b, eta, slacks, places and counts, as companion.svm finds them.
(() => {
  const { solveQP, dot, times, largest } = companionBoards.solver;
  const inner = (x, y) => x[0] * y[0] + x[1] * y[1];
  const KERNELS = {
    linear: () => inner,
    quadratic: () => (x, y) => (inner(x, y) + 1) ** 2,
    Gaussian: (sigma) => (x, y) => Math.exp(-((x[0] - y[0]) ** 2 + (x[1] - y[1]) ** 2) / (2 * sigma * sigma)),
  };
  // As Python's format "g" with so many digits.
  const g = (x, digits = 6) => {
    if (!Number.isFinite(x)) return Number.isNaN(x) ? "undefined" : x > 0 ? "∞" : "-∞";
    if (x === 0) return "0";
    const power = +x.toExponential(digits - 1).split("e")[1];
    if (power >= -4 && power < digits) return String(+x.toPrecision(digits));
    const [mantissa, e] = x.toExponential(digits - 1).split("e");
    return `${+mantissa}e${e[0] === "-" ? "-" : "+"}${e.slice(1).padStart(2, "0")}`;
  };

  // The largest nu with w = 0 (companion.svm.nu_min): min k subject to sum_i s_i a_i phi(x_i) = 0, sums 1/2, a <= k.
  const nuMin = (features, s) => {
    const n = s.length, d = features[0].length, N = 2 * n + 1; // a, the rests k - a, k
    const mean = features[0].map((_, j) => features.reduce((t, f) => t + f[j], 0) / n);
    const size = mean.map((t, j) => Math.max(...features.map((f) => Math.abs(f[j] - t))) || 1);
    const A = [], c = [];
    const row = (of, right) => {
      A.push(Float64Array.from({ length: N }, (_, i) => of(i)));
      c.push(right);
    };
    for (let j = 0; j < d; j++) row((i) => (i < n ? (s[i] * (features[i][j] - mean[j])) / size[j] : 0), 0);
    for (const colour of [1, -1]) row((i) => (i < n && s[i] === colour ? 1 : 0), 0.5);
    for (let k = 0; k < n; k++) row((i) => (i === k || i === n + k ? 1 : i === 2 * n ? -1 : 0), 0);
    const P = Array.from({ length: N }, () => new Float64Array(N));
    const q = Float64Array.from({ length: N }, (_, i) => (i === 2 * n ? 1 : 0));
    const { x } = companionBoards.solver.guess(P, q, A, c, new Float64Array(N).fill(Infinity));
    return 1 / (n * x[2 * n]);
  };

  // Each machine: q, bound K, sum Km of the multipliers, equation s'a = 0, what P gets besides, and errors of parameters.
  const program = (machine, values, s) => {
    const n = s.length, p = s.filter((t) => t > 0).length, q = n - p, fewest = Math.min(p, q);
    const nu = values.nu, K = values.K ?? (machine === "SVMs1" ? 1 / fewest : 1 / n), Km = n * K * nu;
    const end = "the dual program has no feasible point, and the ";
    if (machine === "HardMarginSVC") return { q: 0, upper: Infinity, total: 2, balanced: true };
    if (machine === "SVMs2") return { q: -1, upper: K, total: null, balanced: true };
    if (machine === "SVMs1") {
      if (2 * fewest * K < 1 - 1e-12) {
        throw Error(`K = ${g(K)} is below max(1/(2p), 1/(2q)) = ${g(1 / (2 * fewest))} for p = ${p}, q = ${q}: ${end}margin is unbounded`);
      }
      return { q: 0, upper: K, total: 1, balanced: true };
    }
    const most = (2 * fewest) / n, balanced = machine === "SVMs2prime" || machine === "SVMs4";
    if (machine === "SVMs2prime" && nu > most * (1 + 1e-12)) {
      throw Error(`nu = ${g(nu)} exceeds 2 min(p, q)/(p + q) = ${g(most)} for p = ${p}, q = ${q}: ${end}primal objective is unbounded`);
    }
    if (machine === "SVMs3" && nu > 1 + 1e-12) throw Error(`nu = ${g(nu)} exceeds 1: ${end}primal objective is unbounded`);
    const squared = machine === "SVMs4" || machine === "SVMs5";
    return { q: 0, upper: squared ? Infinity : K, total: Km, balanced, penalized: !balanced, ridge: squared ? 1 / (2 * K) : 0 };
  };

  const middle = ([low, high]) => (Number.isFinite(low + high) ? low + (high - low) / 2 : Number.isFinite(low) ? low : Number.isFinite(high) ? high : 0);
  // What "<= g where a = 0, >= g where a = K, = g between" leaves of a number.
  const interval = (g, zero, full) => {
    const free = g.filter((_, i) => !zero[i] && !full[i]);
    if (free.length) return Array(2).fill(free.reduce((t, x) => t + x, 0) / free.length);
    const low = Math.max(...g.filter((_, i) => full[i])), high = Math.min(...g.filter((_, i) => zero[i]));
    return low > high ? [(low + high) / 2, (low + high) / 2] : [low, high];
  };

  // b, eta and the interval of b from the multipliers a and g = P a (companion/svm/slab.py).
  const slab = (machine, s, a, G, upper) => {
    const all = [...s.keys()], zero = Array.from(a, (t) => t <= 0), full = Array.from(a, (t) => t >= upper);
    const of = (chosen) => interval(chosen.map((i) => G[i]), chosen.map((i) => zero[i]), chosen.map((i) => full[i]));
    if (machine === "HardMarginSVC" || machine === "SVMs2") {
      const swap = (x, y) => all.map((i) => (s[i] > 0 ? x[i] : y[i]));
      const b = interval(all.map((i) => s[i] * (G[i] - 1)), swap(zero, full), swap(full, zero));
      return { b: middle(b), eta: 1, bInterval: b };
    }
    if (machine === "SVMs3" || machine === "SVMs5") {
      const sum = -dot(s, a), b = Math.abs(sum) > (upper < Infinity ? 1e-12 : 4e-15) * a.reduce((t, x) => t + x, 0) ? sum : 0;
      return { b, eta: middle(of(all)), bInterval: [b, b] };
    }
    const blue = of(all.filter((i) => s[i] > 0)), red = of(all.filter((i) => s[i] < 0)), [plus, minus] = [middle(blue), middle(red)];
    return { b: (plus - minus) / 2, eta: (plus + minus) / 2, bInterval: [(blue[0] - red[1]) / 2, (blue[1] - red[0]) / 2] };
  };

  const places = (a, upper, margin, eta, tight, squared) =>
    Array.from(a, (ai, i) => {
      if (ai <= 0) return margin[i] > eta + tight ? "outside" : "exceptional";
      if (!squared && ai < upper) return "type 1";
      if (!squared && Math.abs(margin[i] - eta) <= tight) return "type 2";
      return margin[i] < -tight ? "misclassified" : margin[i] <= tight ? "on hyperplane" : "in slab";
    });

  const lost = (machine, values, s, X, kernel) => {
    const features = kernel === "Gaussian" ? X.map((x) => X.map((y) => KERNELS.Gaussian(values.sigma)(x, y))) : kernel === "linear" ? X : X.map(([x, y]) => [x, y, x * x, y * y, x * y]);
    const n = s.length, smallest = nuMin(features, s), K = values.K ?? 1, nu = machine === "SVMs1" ? 1 / (n * K) : values.nu;
    if (!(nu <= smallest * (1 + 1e-9))) return "";
    if (machine !== "SVMs1") return `nu = ${g(values.nu)} is at most nu_min = ${g(smallest)}: the optimum is w = 0, eta = 0, and no hyperplane is found; raise nu`;
    return `K = ${g(K)} is at least ${g(1 / (n * smallest))}: the optimal value of (SVM_s1) is 0, and w is not determined; lower K`;
  };

  let last = {};
  const fit = ({ points, machine, values, limits }) => {
    const s = points.map((t) => t[2]), X = points.map(([x, y]) => [x, y]), n = s.length;
    if (new Set(s).size < 2) return { message: "There must be a point of each colour." };
    const kernel = KERNELS[values.kernel ?? "linear"](values.sigma);
    let dual;
    try {
      dual = program(machine, values, s);
    } catch (error) {
      return { message: error.message };
    }
    const { upper, total, balanced, penalized, ridge = 0 } = dual;
    const P = X.map((x, i) => Float64Array.from(X, (y, j) => s[i] * s[j] * (kernel(x, y) + (penalized ? 1 : 0)) + (i === j ? ridge : 0)));
    const A = [], c = [];
    if (balanced) A.push(Float64Array.from(s)), c.push(0);
    if (total !== null) A.push(new Float64Array(n).fill(1)), c.push(total);
    const found = solveQP(P, new Float64Array(n).fill(dual.q), A, c, new Float64Array(n).fill(upper), last.key === machine ? last : null);
    last = { key: machine, ...found };
    const top = largest(found.x);
    const a = found.x.map((t) => (t <= 1e-12 * top ? 0 : upper < Infinity && upper - t <= 1e-12 * upper ? upper : t));
    let G = times(P, a);
    const reach = dot(a, P.map((row, i) => Math.sqrt(Math.max(row[i], 0)))), square = dot(a, G);
    const hard = machine === "HardMarginSVC", homogeneous = ["SVMs1", "SVMs2prime", "SVMs3"].includes(machine);
    const vanishes = square <= 1e-10 * reach * reach && (hard ? square <= 1e-12 * reach * reach : lost(machine, values, s, X, values.kernel ?? "linear"));
    if ((hard || homogeneous) && vanishes) {
      if (hard) return { message: "no hyperplane separates the two classes in feature space: their convex hulls meet, in the point with the coefficients error.witness; use a soft margin or another kernel" };
      return {
        message: vanishes, multipliers: [...a], slacks: Array(n).fill(0), places: Array(n).fill("undetermined"),
        curves: {}, arrows: [], exact: { w: [0, 0], b: 0, eta: 0, bInterval: [0, 0], counts: [] },
        facts: [["b", "0"], ["η", "0"], ["‖w‖", "0"], ["δ", machine === "SVMs1" ? "0" : "undefined"], ["objective", "0"]],
      };
    }
    if (hard) {
      a.forEach((_, i) => (a[i] *= 2 / square));
      G = times(P, a);
    }
    let { b, eta, bInterval } = slab(machine, s, a, G, upper);
    const margin = G.map((t, i) => t - ridge * a[i] - (penalized ? 0 : s[i] * b));
    const size = largest(G) + Math.abs(eta) + Math.abs(b);
    const slacks = Array.from(a, (t, i) => {
      const slack = ridge ? ridge * t : t < upper ? 0 : Math.max(eta - margin[i], 0);
      return ridge || slack > 1e-9 * size ? slack : 0;
    });
    const place = places(a, upper, margin, eta, 1e-9 * size, ridge > 0);
    const norm = Math.sqrt(Math.max(dot(a, G) - ridge * dot(a, a) - (penalized ? b * b : 0), 0));
    const unit = machine === "SVMs1" ? 1 / norm : 1;
    [b, eta, bInterval] = [b * unit, eta * unit, bInterval.map((t) => t * unit)];
    const coefficients = Array.from(a, (t, i) => t * s[i] * unit), spent = slacks.reduce((t, x) => t + (ridge ? x * x : x), 0) * unit;
    const objective = machine === "SVMs1" ? -eta + upper * spent : norm * norm / 2 + (penalized ? b * b / 2 : 0)
      - (total !== null && !hard ? total * eta : 0) + (ridge ? spent / (2 * ridge) : hard ? 0 : upper * spent);
    const f = (x) => coefficients.reduce((t, ai, i) => (ai ? t + ai * kernel(X[i], x) : t), -b);
    const count = (test, colour) => s.filter((t, i) => t === colour && test(a[i])).length;
    const [pf, qf] = [1, -1].map((t) => count((ai) => ai >= upper, t)), [pm, qm] = [1, -1].map((t) => count((ai) => ai > 0, t));
    return {
      message: "", multipliers: [...a], slacks: slacks.map((t) => t * unit), places: place,
      curves: norm > 1e-12 * reach ? companionBoards.contours(f, limits, { hyperplane: 0, blue: eta, red: -eta }) : {},
      arrows: values.kernel && values.kernel !== "linear" ? [] : arrows(X, s, slacks.map((t) => t * unit), coefficients),
      facts: facts(machine, values, n, upper, { b, eta, bInterval, norm: unit === 1 ? norm : 1, objective, pf, qf, pm, qm, error: place.length }),
      exact: { w: [0, 1].map((k) => X.reduce((t, x, i) => t + coefficients[i] * x[k], 0)), b, eta, bInterval, counts: [pf, qf, pm, qm], solved: found.exact },
    };
  };

  // From a point with slack to its margin line: the slack over the norm of w, along w.
  const arrows = (X, s, slacks, coefficients) => {
    const w = [0, 1].map((k) => X.reduce((t, x, i) => t + coefficients[i] * x[k], 0)), square = w[0] ** 2 + w[1] ** 2;
    return X.flatMap((x, i) => (slacks[i] > 0 && square > 0 ? [[...x, x[0] + (s[i] * slacks[i] * w[0]) / square, x[1] + (s[i] * slacks[i] * w[1]) / square]] : []));
  };

  const facts = (machine, values, n, upper, { b, eta, bInterval, norm, objective, pf, qf, pm, qm }) => {
    const shown = [["b", g(Math.abs(b) < 1e-12 ? 0 : b, 4)], ["η", g(eta, 4)], ["‖w‖", g(norm, 4)], ["δ", g(norm > 0 ? eta / norm : eta > 0 ? Infinity : NaN, 4)], ["objective", g(objective, 4)]];
    if (bInterval[1] > bInterval[0]) shown.push(["b from, to", bInterval.map((t) => g(t, 4)).join(", ")]);
    if (machine === "SVMs2prime" || machine === "SVMs1") {
      const half = machine === "SVMs1" ? 1 / (2 * upper) : (values.nu * n) / 2;
      const name = machine === "SVMs1" ? "1/(2K)" : "ν(p+q)/2";
      shown.push([`p_f ≤ ${name} ≤ p_m`, `${pf} ≤ ${g(half, 4)} ≤ ${pm}`], [`q_f ≤ ${name} ≤ q_m`, `${qf} ≤ ${g(half, 4)} ≤ ${qm}`]);
    } else if (machine === "SVMs3") shown.push(["p_f+q_f ≤ ν(p+q) ≤ p_m+q_m", `${pf + qf} ≤ ${g(values.nu * n, 4)} ≤ ${pm + qm}`]);
    else shown.push(["p_f, q_f, p_m, q_m", [pf, qf, pm, qm].join(", ")]);
    return shown;
  };

  Object.assign(companionBoards, { g, KERNELS, middle });
  (companionBoards.engines ??= {}).point = fit;
})();
