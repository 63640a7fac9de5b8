// Chapter 18 in the browser: dual program, w, b, eta, slacks, places and counts, as companion.svm finds them.
//
//   min 1/2 a'Pa (- 1'a in s2)   subject to   s'a = 0,  1'a = total,  0 <= a <= bound
(() => {
  const { solver: { solveQP, guess, dot, times, largest }, curves: { field, contours } } = companionBoards;
  const { kernelOf, sum, snap, interval, middle, countOf, marksOf, between, open, refuse, g } = companionBoards.numbers;

  // `unit`: |w| = 1. `priced`: eta = 1. `penalized`: b is, and s'a = 0 goes. `squared`: slacks are. `K`: it has a K.
  // `bound`: what Propositions 18.1 and 18.3 put between the counts of points.
  const PROGRAMS = {
    "(SVM_s2′), ν-SVM": { bound: (nu, K, n) => ["ν(p+q)/2", (nu * n) / 2] },
    "(SVM_h2), hard margin": { hard: true },
    "(SVM_s1), unit normal": { unit: true, K: true, bound: (nu, K) => ["1/(2K)", 1 / (2 * K)] },
    "(SVM_s2), C-SVM": { priced: true, K: true },
    "(SVM_s3), b penalised": { penalized: true, bound: (nu, K, n) => ["ν(p+q)", nu * n] },
    "(SVM_s4), squared slack": { squared: true, K: true },
    "(SVM_s5), squared slack, b penalised": { squared: true, penalized: true, K: true },
  };
  // As companion.engine.refusals has it: the digits that tell both apart, and a limit on the side that is accepted.
  const apart = (value, limit, sign, digits = 6) => {
    const unit = 10 ** (Math.floor(Math.log10(limit)) + 1 - digits), shown = g(limit, digits), one = g(value, digits);
    const two = (shown - limit) * sign < -1e-9 * limit ? g(limit + 0.5 * sign * unit, digits) : shown;
    return digits > 16 || (one - two) * sign < 0 ? [one, two] : apart(value, limit, sign, digits + 1);
  };
  const check = ({ unit, hard, priced, squared, penalized }, nu, K, p, q) => {
    const fewest = Math.min(p, q), least = 1 / (2 * fewest), most = penalized ? 1 : (2 * fewest) / (p + q);
    const none = `for p = ${p}, q = ${q}: the dual program has no feasible point, and the primal objective is unbounded`;
    if (fewest === 0) refuse("There must be a point of each colour.");
    if (unit && K < least * (1 - 1e-12)) {
      refuse(`K = ${apart(K, least, 1).join(" is below max(1/(2p), 1/(2q)) = ")} ${none}`);
    }
    if (!(unit || hard || priced || squared) && nu > most * (1 + 1e-12)) {
      refuse(`nu = ${apart(nu, most, -1).join(penalized ? " exceeds " : " exceeds 2 min(p, q)/(p + q) = ")} ${none}`);
    }
  };

  // The largest nu with w = 0 (companion.svm.nu_min): the mean of a largest t <= 1 with sum s_i t_i (phi(x_i), 1) = 0.
  // Here phi(x) is known by its inner products with the points.
  const nuMin = (K, s) => {
    const n = s.length, size = largest(K.map(largest)) || 1, zero = new Float64Array(n), u = zero.map(() => 1);
    const A = [Float64Array.from(s), ...K.map((row) => row.map((t, i) => (s[i] * (t - row[0])) / size))];
    return sum(guess({ P: s.map(() => zero), q: u.map(() => -1), A, c: A.map(() => 0), u }).x) / n;
  };
  const lost = (nu, smallest) => `nu = ${apart(nu, smallest, 1).join(" is at most nu_min = ")}: `
    + "the optimum is w = 0, eta = 0, and no hyperplane is found; raise nu";
  const lostByK = (K, most) => `K = ${apart(K, most, -1).join(" is at least ")}: `
    + "the optimal value of (SVM_s1) is 0, and w is not determined; lower K";

  // b, eta and the interval of b from the multipliers a and G = P a (companion/svm/hyperplanes.py).
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

  const solve = ({ points, values, limits }) => {
    const s = points.map((t) => t[2]), n = s.length, p = s.filter((t) => t > 0).length;
    const program = PROGRAMS[values.program], { hard, unit, priced, squared, penalized } = program, { nu } = values;
    const price = program.K ? values.K : 1 / n, bound = hard || squared ? Infinity : price;
    check(program, nu, price, p, n - p);
    const total = hard ? 2 : unit ? 1 : n * price * nu, upper = priced ? bound : Math.min(bound, 2 * total);
    const ridge = squared ? 1 / (2 * price) : 0, shift = penalized ? 1 : 0, all = (t) => new Float64Array(n).fill(t);
    const { gram: K, expansion } = kernelOf(values, points);
    const P = K.map((row, i) => row.map((t, j) => s[i] * s[j] * (t + shift) + (i === j ? ridge : 0)));
    const equations = [...(penalized ? [] : [[Float64Array.from(s), 0]]), ...(priced ? [] : [[all(1), total]])];
    const [A, c] = [0, 1].map((k) => equations.map((each) => each[k]));
    const a = snap(solveQP({ P, q: all(priced ? -1 : 0), A, c, u: all(upper) }, values.program).x, upper);
    const reach = dot(a, P.map((row, i) => Math.sqrt(Math.max(row[i], 0)))) ** 2, square = dot(a, times(P, a));
    if (hard && square <= 1e-12 * reach) {
      refuse("no hyperplane separates the two classes in feature space: their convex hulls meet, in the point with the "
        + "coefficients error.witness; use a soft margin or another kernel");
    }
    const small = !hard && !priced && !squared && square <= 1e-10 * reach, least = small && nuMin(K, s);
    if (small && (unit ? 1 / (n * price) : nu) <= least * (1 + 1e-9)) {
      return {
        message: unit ? lostByK(price, 1 / (n * least)) : lost(nu, least), b: 0, eta: 0, norm: 0, objective: 0,
        delta: unit ? 0 : NaN, b_interval: [0, 0], multipliers: a, slacks: s.map(() => 0),
        places: s.map(() => "undetermined"),
      };
    }
    if (hard) a.forEach((_, i) => (a[i] *= 2 / square));
    const G = times(P, a), { b, eta, b_interval } = levels(program, bound, s, a, G);
    const signed = a.map((t, i) => t * s[i]), wx = times(K, signed), margin = wx.map((t, i) => s[i] * (t - b));
    const tight = 1e-9 * (largest(G) + Math.abs(eta) + Math.abs(b));
    const slack = (t, i) => (t >= bound && eta - margin[i] > tight ? eta - margin[i] : 0);
    const slacks = a.map(squared ? (t) => ridge * t : slack), ww = dot(signed, wx);
    const length = ww > 1e-13 * reach ? Math.sqrt(ww) : 0, scale = unit ? 1 / length : 1, norm = length * scale;
    const coefficients = signed.map((t) => t * scale);
    const dual = (hard ? dot(a, G) : -dot(a, G)) / 2 + (priced ? sum(a) : 0); // its optimum is the primal one's
    return {
      multipliers: a, slacks: slacks.map((t) => t * scale), places: placed(squared, bound, a, margin, eta, tight),
      b: b * scale, eta: eta * scale, b_interval: b_interval.map((t) => t * scale), norm,
      delta: norm > 0 ? (eta * scale) / norm : eta > 0 ? Infinity : NaN, objective: unit ? -Math.sqrt(square) : dual,
      counts: countOf(signed, bound),
      w: values.kernel === "linear" && norm > 0 ? [0, 1].map((k) => dot(coefficients, points.map((x) => x[k]))) : null,
      field: norm > 0 ? field(expansion(coefficients, -b * scale), limits) : null,
    };
  };

  // The counts beside the bounds that are proved for them.
  const proved = ([pf, qf, pm, qm], { program, nu, K }, n) => {
    const { bound, penalized } = PROGRAMS[program], value = bound?.(nu, K, n);
    if (!bound) return { "p_f, q_f, p_m, q_m": [pf, qf, pm, qm] };
    if (penalized) return between(["p_f+q_f", pf + qf], value, ["p_m+q_m", pm + qm]);
    return { ...between(["p_f", pf], value, ["p_m", pm]), ...between(["q_f", qf], value, ["q_m", qm]) };
  };

  const view = (result, { points, limits, values }) => {
    const { slacks, b, eta, norm, delta, objective, b_interval, counts, w } = result;
    const lines = result.field ? [["middle", 0], ["blue", eta], ["red", -eta]] : [];
    const shapes = lines.map(([name, level]) => [name, contours(result.field, limits, level)]);
    // A point with slack is as far from its margin line as slack over the norm of w.
    const arrow = ([x, y, s], i) => [[x, y], [x, y].map((t, k) => t + (s * slacks[i] * w[k]) / dot(w, w))];
    if (w) shapes.push(["arrow", points.map(arrow).filter((_, i) => slacks[i] > 0)]);
    const proven = counts && proved(counts, values, points.length);
    const facts = { b, η: eta, "‖w‖": norm, δ: delta, objective, ...open({ b: b_interval }), ...proven };
    return { marks: marksOf(result), shapes, facts };
  };

  companionBoards.kinds.point = {
    label: "Points of two classes and the fitted hyperplanes", equal: true, solve, view,
    adds: [[1, "blue point", "a"], [-1, "red point", "b"]],
    call: (points, signs) => ["point_board", ...[1, -1].map((sign) => points.filter((_, i) => signs[i] === sign))],
  };
})();
