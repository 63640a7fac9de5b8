// Chapter 18 in the browser: dual program, w, b, eta, slacks, places and counts, as companion.svm finds them.
//
//   min 1/2 a'Pa (- 1'a in s2)   subject to   s'a = 0,  1'a = total,  0 <= a <= bound
(() => {
  const { Refusal, solver: { solveQP, guess, dot, times, largest }, curves: { field, contours } } = companionBoards;
  const { kernelOf, sum, snap, interval, middle, marksOf, g, text } = companionBoards.numbers;

  // `unit`: |w| = 1. `priced`: eta = 1. `penalized`: b is, and s'a = 0 goes. `squared`: slacks are.
  const KINDS = {
    HardMarginSVC: { hard: true }, SVMs1: { unit: true }, SVMs2: { priced: true }, SVMs2prime: {},
    SVMs3: { penalized: true }, SVMs4: { squared: true }, SVMs5: { squared: true, penalized: true },
  };
  const refuse = (words) => {
    throw new Refusal(words);
  };
  const check = (machine, nu, price, p, q) => {
    const fewest = Math.min(p, q), most = (2 * fewest) / (p + q), sizes = `for p = ${p}, q = ${q}: `;
    const none = "the dual program has no feasible point, and the", unbounded = `${none} primal objective is unbounded`;
    if (machine === "SVMs1" && 2 * fewest * price < 1 - 1e-12) {
      const least = `max(1/(2p), 1/(2q)) = ${g(1 / (2 * fewest))}`;
      refuse(`K = ${g(price)} is below ${least} ${sizes}${none} margin is unbounded`);
    }
    if (machine === "SVMs2prime" && nu > most * (1 + 1e-12)) {
      refuse(`nu = ${g(nu)} exceeds 2 min(p, q)/(p + q) = ${g(most)} ${sizes}${unbounded}`);
    }
    if (machine === "SVMs3" && nu > 1 + 1e-12) refuse(`nu = ${g(nu)} exceeds 1: ${unbounded}`);
  };

  // The largest nu with w = 0 (companion.svm.nu_min): the mean of a largest t <= 1 with sum s_i t_i (phi(x_i), 1) = 0.
  const nuMin = (features, s) => {
    const columns = features[0].map((_, j) => features.map((f) => f[j])).map((column) => {
      const mean = sum(column) / s.length, centred = column.map((t) => t - mean), size = largest(centred) || 1;
      return Float64Array.from(centred, (t, i) => (s[i] * t) / size);
    });
    const n = s.length, A = [Float64Array.from(s), ...columns], u = new Float64Array(n).fill(1);
    return sum(guess({ P: s.map(() => new Float64Array(n)), q: u.map((t) => -t), A, c: A.map(() => 0), u }).x) / n;
  };
  // Why w = 0, or nothing if it is small but not 0.
  const lost = (unit, price, { nu, kernel = "linear", sigma }, s, X) => {
    const images = { linear: ([x, y]) => [x, y], quadratic: ([x, y]) => [x, y, x * x, y * y, x * y] };
    const image = images[kernel] ?? ((x) => X.map((y) => kernelOf({ kernel, sigma })(x, y)));
    const n = s.length, smallest = nuMin(X.map(image), s);
    if ((unit ? 1 / (n * price) : nu) > smallest * (1 + 1e-9)) return "";
    return unit
      ? `K = ${g(price)} is at least ${g(1 / (n * smallest))}: the optimal value of (SVM_s1) is 0, `
        + "and w is not determined; lower K"
      : `nu = ${g(nu)} is at most nu_min = ${g(smallest)}: the optimum is w = 0, eta = 0, `
        + "and no hyperplane is found; raise nu";
  };

  // b, eta and the interval of b from the multipliers a and G = P a (companion/svm/slab.py).
  const levels = ({ hard, priced, penalized, squared }, bound, s, a, G) => {
    const side = a.map((t) => (t <= 0 ? -1 : t >= bound ? 1 : 0));
    if (hard || priced) {
      const b_interval = interval(s.map((t, i) => t * (G[i] - 1)), side.map((t, i) => s[i] * t));
      return { b: middle(b_interval), eta: 1, b_interval };
    }
    const of = (sign) => interval(...[[...G], side].map((list) => list.filter((_, i) => sign.includes(s[i]))));
    if (penalized) {
      const found = -dot(s, a), b = Math.abs(found) <= (squared ? 4e-15 : 1e-12) * sum(a) ? 0 : found;
      return { b, eta: middle(of([1, -1])), b_interval: [b, b] };
    }
    const blue = of([1]), red = of([-1]), plus = middle(blue), minus = middle(red);
    const b_interval = [(blue[0] - red[1]) / 2, (blue[1] - red[0]) / 2];
    return { b: (plus - minus) / 2, eta: (plus + minus) / 2, b_interval };
  };

  const placed = (squared, bound, a, margin, eta, tight) => a.map((ai, i) => {
    if (ai <= 0) return margin[i] > eta + tight ? "outside" : "exceptional";
    if (!squared && ai < bound) return "type 1";
    if (!squared && Math.abs(margin[i] - eta) <= tight) return "type 2";
    return margin[i] < -tight ? "misclassified" : margin[i] <= tight ? "on hyperplane" : "in slab";
  });

  const solve = ({ points, machine, values, limits }) => {
    const s = points.map((t) => t[2]), X = points.map(([x, y]) => [x, y]), n = s.length, kernel = kernelOf(values);
    const p = s.filter((t) => t > 0).length, kind = KINDS[machine], { hard, unit, priced, squared, penalized } = kind;
    if (p === 0 || p === n) refuse("There must be a point of each colour.");
    const price = values.K ?? 1 / (unit ? Math.min(p, n - p) : n), bound = hard || squared ? Infinity : price;
    const total = hard ? 2 : unit ? 1 : n * price * values.nu, upper = priced ? bound : Math.min(bound, 2 * total);
    check(machine, values.nu, price, p, n - p);
    const ridge = squared ? 1 / (2 * price) : 0, shift = penalized ? 1 : 0, all = (t) => new Float64Array(n).fill(t);
    const P = X.map((x, i) => Float64Array.from(X, (y, j) => s[i] * s[j] * (kernel(x, y) + shift)));
    P.forEach((row, i) => (row[i] += ridge));
    const equations = [...(penalized ? [] : [[Float64Array.from(s), 0]]), ...(priced ? [] : [[all(1), total]])];
    const [A, c] = [0, 1].map((k) => equations.map((each) => each[k]));
    const a = snap(solveQP({ P, q: all(priced ? -1 : 0), A, c, u: all(upper) }, machine).x, upper);
    const reach = dot(a, P.map((row, i) => Math.sqrt(Math.max(row[i], 0)))) ** 2, square = dot(a, times(P, a));
    if (hard && square <= 1e-12 * reach) {
      refuse("no hyperplane separates the two classes in feature space: their convex hulls meet, in the point with the "
        + "coefficients error.witness; use a soft margin or another kernel");
    }
    const vanishes = !hard && !priced && !squared && square <= 1e-10 * reach && lost(unit, price, values, s, X);
    if (vanishes) {
      const nothing = { b: 0, eta: 0, norm: 0, delta: unit ? 0 : NaN, objective: 0, b_interval: [0, 0] };
      const [slacks, places] = [0, "undetermined"].map((t) => s.map(() => t));
      return { ...nothing, message: vanishes, multipliers: a, slacks, places };
    }
    if (hard) a.forEach((_, i) => (a[i] *= 2 / square));
    const G = times(P, a), { b, eta, b_interval } = levels(kind, bound, s, a, G);
    const margin = G.map((t, i) => t - ridge * a[i] - (penalized ? 0 : s[i] * b));
    const tight = 1e-9 * (largest(G) + Math.abs(eta) + Math.abs(b));
    const slack = (t, i) => (t >= bound && eta - margin[i] > tight ? eta - margin[i] : 0);
    const slacks = a.map(squared ? (t) => ridge * t : slack), ww = dot(a, G) - ridge * dot(a, a) - shift * b * b;
    const length = ww > 1e-13 * reach ? Math.sqrt(ww) : 0, scale = unit ? 1 / length : 1, norm = length * scale;
    const coefficients = a.map((t, i) => t * s[i] * scale);
    const f = (x) => coefficients.reduce((t, ai, i) => (ai ? t + ai * kernel(X[i], x) : t), -b * scale);
    const spent = squared ? price * dot(slacks, slacks) : hard ? 0 : price * sum(slacks) * scale;
    const fixed = unit ? -eta * scale : norm * norm / 2 + shift * b * b / 2 - (hard || priced ? 0 : total * eta);
    const count = (test) => [1, -1].map((colour) => s.filter((t, i) => t === colour && test(a[i])).length);
    const flat = (values.kernel ?? "linear") === "linear" && norm > 0;
    return {
      multipliers: a, slacks: slacks.map((t) => t * scale), places: placed(squared, bound, a, margin, eta, tight),
      b: b * scale, eta: eta * scale, b_interval: b_interval.map((t) => t * scale), norm, objective: fixed + spent,
      delta: norm > 0 ? (eta * scale) / norm : eta > 0 ? Infinity : NaN,
      counts: [...count((t) => t >= bound), ...count((t) => t > 0)],
      bound: { SVMs1: 1 / (2 * price), SVMs2prime: (values.nu * n) / 2, SVMs3: values.nu * n }[machine] ?? null,
      w: flat ? [0, 1].map((k) => sum(X.map((x, i) => coefficients[i] * x[k]))) : null,
      field: norm > 0 ? field(f, limits) : null,
    };
  };

  // The counts beside the bounds that Propositions 18.1 and 18.3 prove for them.
  const proved = (machine, [pf, qf, pm, qm], bound) => {
    if (machine === "SVMs3") return { "p_f+q_f ≤ ν(p+q) ≤ p_m+q_m": `${pf + qf} ≤ ${text(bound)} ≤ ${pm + qm}` };
    if (bound === null) return { "p_f, q_f, p_m, q_m": [pf, qf, pm, qm] };
    const name = machine === "SVMs1" ? "1/(2K)" : "ν(p+q)/2", between = `≤ ${text(bound)} ≤`;
    return { [`p_f ≤ ${name} ≤ p_m`]: `${pf} ${between} ${pm}`, [`q_f ≤ ${name} ≤ q_m`]: `${qf} ${between} ${qm}` };
  };

  const view = (result, { points, limits, machine }) => {
    const { slacks, b, eta, norm, delta, objective, b_interval: [low, high], counts, bound, w } = result;
    const marks = marksOf(result), square = w ? dot(w, w) : 0;
    const lines = result.field ? [["middle", 0], ["blue", eta], ["red", -eta]] : [];
    const shapes = lines.map(([name, level]) => ["path", name, contours(result.field, limits, level)]);
    // A point with slack is as far from its margin line as slack over the norm of w.
    const arrow = ([x, y, s], i) => [[x, y], [x, y].map((t, k) => t + (s * slacks[i] * w[k]) / square)];
    if (square > 0) shapes.push(["arrows", "arrow", points.map(arrow).filter((_, i) => slacks[i] > 0)]);
    const facts = { b, η: eta, "‖w‖": norm, δ: delta, objective, ...(high > low && { "b from, to": [low, high] }) };
    return { marks, shapes, facts: { ...facts, ...(counts && proved(machine, counts, bound)) } };
  };

  companionBoards.kinds.point = {
    label: "Points of two classes and the fitted hyperplanes", axes: ["x₁", "x₂"], equal: true, solve, view,
    head: ["multiplier", "slack", "place"], adds: [[1, "blue point", "a"], [-1, "red point", "b"]],
  };
})();
