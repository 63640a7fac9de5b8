// Chapter 18 in the browser: dual program, w, b, eta, slacks, places and counts, as companion.svm finds them.
(() => {
  const { solveQP, guess, dot, times, largest, KERNELS, snap, interval, middle, g, text } = companionBoards.solver;

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
    const { x } = guess(P, q, A, c, new Float64Array(N).fill(Infinity));
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
  const solve = ({ points, machine, values, limits }) => {
    const s = points.map((t) => t[2]), X = points.map(([x, y]) => [x, y]), n = s.length;
    if (new Set(s).size < 2) return { message: "There must be a point of each colour." };
    const kind = values.kernel ?? "linear", kernel = KERNELS[kind](values.sigma);
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
    const a = snap(found.x, upper);
    let G = times(P, a);
    const reach = dot(a, P.map((row, i) => Math.sqrt(Math.max(row[i], 0)))), square = dot(a, G);
    const hard = machine === "HardMarginSVC", homogeneous = ["SVMs1", "SVMs2prime", "SVMs3"].includes(machine);
    if (hard && square <= 1e-12 * reach * reach) {
      return { message: "no hyperplane separates the two classes in feature space: their convex hulls meet, in the point with the coefficients error.witness; use a soft margin or another kernel" };
    }
    const vanishes = homogeneous && square <= 1e-10 * reach * reach && lost(machine, values, s, X, kind);
    if (vanishes) {
      return {
        message: vanishes, solved: true, size: n, multipliers: a, slacks: Array(n).fill(0), places: Array(n).fill("undetermined"),
        b: 0, eta: 0, norm: 0, delta: machine === "SVMs1" ? 0 : NaN, objective: 0, b_interval: [0, 0],
      };
    }
    if (hard) {
      a.forEach((_, i) => (a[i] *= 2 / square));
      G = times(P, a);
    }
    let { b, eta, bInterval } = slab(machine, s, a, G, upper);
    const margin = G.map((t, i) => t - ridge * a[i] - (penalized ? 0 : s[i] * b));
    const size = largest(G) + Math.abs(eta) + Math.abs(b), tight = 1e-9 * size;
    const slacks = a.map((t, i) => (ridge ? ridge * t : t >= upper && eta - margin[i] > tight ? eta - margin[i] : 0));
    const place = places(a, upper, margin, eta, tight, ridge > 0);
    const ww = dot(a, G) - ridge * dot(a, a) - (penalized ? b * b : 0), length = ww > 1e-13 * reach * reach ? Math.sqrt(ww) : 0;
    const unit = machine === "SVMs1" ? 1 / length : 1, norm = length * unit; // (SVM_s1) has the unit normal
    [b, eta, bInterval] = [b * unit, eta * unit, bInterval.map((t) => t * unit)];
    const coefficients = a.map((t, i) => t * s[i] * unit), spent = slacks.reduce((t, x) => t + (ridge ? x * x : x), 0) * unit;
    const objective = machine === "SVMs1" ? -eta + upper * spent : norm * norm / 2 + (penalized ? b * b / 2 : 0)
      - (total !== null && !hard ? total * eta : 0) + (ridge ? spent / (2 * ridge) : hard ? 0 : upper * spent);
    const f = (x) => coefficients.reduce((t, ai, i) => (ai ? t + ai * kernel(X[i], x) : t), -b);
    const count = (test, colour) => s.filter((t, i) => t === colour && test(a[i])).length;
    const counts = [count((t) => t >= upper, 1), count((t) => t >= upper, -1), count((t) => t > 0, 1), count((t) => t > 0, -1)];
    return {
      message: "", solved: true, size: n, multipliers: a, slacks: slacks.map((t) => t * unit), places: place,
      b, eta, norm, delta: norm > 0 ? eta / norm : eta > 0 ? Infinity : NaN, objective, b_interval: bInterval, counts,
      bound: machine === "SVMs1" ? 1 / (2 * upper) : machine === "SVMs3" ? values.nu * n : machine === "SVMs2prime" ? values.nu * n / 2 : null,
      w: kind === "linear" && norm > 0 ? [0, 1].map((k) => X.reduce((t, x, i) => t + coefficients[i] * x[k], 0)) : null,
      field: norm > 0 ? companionBoards.field(f, limits) : null,
    };
  };

  // The counts beside the bounds that Propositions 18.1 and 18.3 prove for them.
  const proved = (machine, [pf, qf, pm, qm], bound) => {
    if (machine === "SVMs3") return [["p_f+q_f ≤ ν(p+q) ≤ p_m+q_m", `${pf + qf} ≤ ${text(bound)} ≤ ${pm + qm}`]];
    if (bound === null) return [["p_f, q_f, p_m, q_m", [pf, qf, pm, qm].join(", ")]];
    const name = machine === "SVMs1" ? "1/(2K)" : "ν(p+q)/2";
    return [[`p_f ≤ ${name} ≤ p_m`, `${pf} ≤ ${text(bound)} ≤ ${pm}`], [`q_f ≤ ${name} ≤ q_m`, `${qf} ≤ ${text(bound)} ≤ ${qm}`]];
  };

  const view = ({ multipliers, slacks, places, b, eta, norm, delta, objective, b_interval, counts, bound, w, field }, { points, limits, machine }) => {
    const most = Math.max(...multipliers.map(Math.abs), 1e-300);
    const marks = multipliers.map((a, i) => ({
      size: Math.abs(a) / most, active: a !== 0, ring: places[i] === "type 1", cross: places[i] === "misclassified",
      cells: [text(a), text(slacks[i]), places[i]],
    }));
    const curves = field ? companionBoards.contours(field, limits, { middle: 0, blue: eta, red: -eta }) : {};
    const shapes = Object.entries(curves).map(([name, found]) => ["path", name, found]);
    const square = w ? dot(w, w) : 0; // a point with slack is as far from its margin line as slack over the norm of w
    if (square > 0) {
      shapes.push(["arrows", "arrow", points.flatMap(([x, y, s], i) => {
        const t = (s * slacks[i]) / square;
        return slacks[i] > 0 ? [[[x, y], [x + t * w[0], y + t * w[1]]]] : [];
      })]);
    }
    const facts = [["b", b], ["η", eta], ["‖w‖", norm], ["δ", delta], ["objective", objective]].map(([name, value]) => [name, text(value)]);
    if (b_interval[1] > b_interval[0]) facts.push(["b from, to", b_interval.map(text).join(", ")]);
    return { marks, shapes, facts: counts ? [...facts, ...proved(machine, counts, bound)] : facts };
  };

  companionBoards.kinds.point = {
    label: "Points of two classes and the fitted hyperplanes", axes: ["x₁", "x₂"], head: ["multiplier", "slack", "place"],
    adds: [[1, "blue point", "a"], [-1, "red point", "b"]], colour: (s) => (s > 0 ? "blue" : "red"), equal: true, solve, view,
  };
})();
