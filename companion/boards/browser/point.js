// Chapter 18 in the browser: dual program, w, b, eta, slacks, places and counts, as companion.svm finds them.
(() => {
  const { Refusal, solver: { solveQP, guess, dot, times, largest }, curves: { field, contours } } = companionBoards;
  const { kernelOf, sum, snap, interval, middle, g, text } = companionBoards.numbers;

  // What tells the programs apart: min 1/2 a'Pa (- 1'a in s2) subject to s'a = 0, 1'a = total, 0 <= a <= bound.
  const program = (machine, { nu, K }, s) => {
    const is = (...names) => names.includes(machine), n = s.length, p = s.filter((t) => t > 0).length, q = n - p;
    const hard = is("HardMarginSVC"), unit = is("SVMs1"), priced = is("SVMs2");
    const squared = is("SVMs4", "SVMs5"), penalized = is("SVMs3", "SVMs5"), fewest = Math.min(p, q);
    const price = K ?? 1 / (unit ? fewest : n), total = hard ? 2 : unit ? 1 : priced ? null : n * price * nu;
    const refuse = (words) => {
      throw new Refusal(words.replace(": ", `: the dual program has no feasible point, and the `));
    };
    const most = (2 * fewest) / n, sizes = `for p = ${p}, q = ${q}: `;
    if (unit && 2 * fewest * price < 1 - 1e-12) {
      refuse(`K = ${g(price)} is below max(1/(2p), 1/(2q)) = ${g(1 / (2 * fewest))} ${sizes}margin is unbounded`);
    }
    if (is("SVMs2prime") && nu > most * (1 + 1e-12)) {
      refuse(`nu = ${g(nu)} exceeds 2 min(p, q)/(p + q) = ${g(most)} ${sizes}primal objective is unbounded`);
    }
    if (is("SVMs3") && nu > 1 + 1e-12) refuse(`nu = ${g(nu)} exceeds 1: primal objective is unbounded`);
    return { hard, unit, priced, squared, penalized, price, total, bound: hard || squared ? Infinity : price };
  };

  // The largest nu with w = 0 (companion.svm.nu_min): the mean of a largest t with sum_i s_i t_i (phi(x_i), 1) = 0, t <= 1.
  const nuMin = (features, s) => {
    const mean = features[0].map((_, j) => sum(features.map((f) => f[j])) / s.length);
    const centred = features.map((f) => f.map((t, j) => t - mean[j]));
    const size = mean.map((_, j) => largest(centred.map((f) => f[j])) || 1);
    const A = [Float64Array.from(s), ...size.map((t, j) => Float64Array.from(s, (si, i) => (si * centred[i][j]) / t))];
    const ones = new Float64Array(s.length).fill(1), P = centred.map(() => new Float64Array(s.length));
    return sum(guess({ P, q: ones.map((t) => -t), A, c: A.map(() => 0), u: ones }).x) / s.length;
  };
  // Why w = 0, or nothing if it is small but not 0.
  const lost = ({ unit, price }, { nu, kernel = "linear", sigma }, s, X) => {
    const images = { linear: ([x, y]) => [x, y], quadratic: ([x, y]) => [x, y, x * x, y * y, x * y] };
    const smallest = nuMin(X.map(images[kernel] ?? ((x) => X.map((y) => kernelOf({ kernel, sigma })(x, y)))), s), n = s.length;
    if ((unit ? 1 / (n * price) : nu) > smallest * (1 + 1e-9)) return "";
    return unit ? `K = ${g(price)} is at least ${g(1 / (n * smallest))}: the optimal value of (SVM_s1) is 0, and w is not determined; lower K`
      : `nu = ${g(nu)} is at most nu_min = ${g(smallest)}: the optimum is w = 0, eta = 0, and no hyperplane is found; raise nu`;
  };

  // b, eta and the interval of b from the multipliers a and G = P a (companion/svm/slab.py).
  const levels = ({ hard, priced, penalized, squared, bound }, s, a, G) => {
    const zero = Array.from(a, (t) => t <= 0), full = Array.from(a, (t) => t >= bound);
    if (hard || priced) {
      const swap = (x, y) => s.map((t, i) => (t > 0 ? x[i] : y[i]));
      const b = interval(s.map((t, i) => t * (G[i] - 1)), swap(zero, full), swap(full, zero));
      return { b: middle(b), eta: 1, b_interval: b };
    }
    const of = (keep) => interval(...[[...G], zero, full].map((list) => list.filter((_, i) => keep(s[i]))));
    if (penalized) {
      const b = -dot(s, a), nothing = Math.abs(b) <= (squared ? 4e-15 : 1e-12) * sum(a);
      return { b: nothing ? 0 : b, eta: middle(of(() => true)), b_interval: nothing ? [0, 0] : [b, b] };
    }
    const blue = of((t) => t > 0), red = of((t) => t < 0), [plus, minus] = [middle(blue), middle(red)];
    return { b: (plus - minus) / 2, eta: (plus + minus) / 2, b_interval: [(blue[0] - red[1]) / 2, (blue[1] - red[0]) / 2] };
  };

  const placed = ({ squared, bound }, a, margin, eta, tight) => Array.from(a, (ai, i) => {
    if (ai <= 0) return margin[i] > eta + tight ? "outside" : "exceptional";
    if (!squared && ai < bound) return "type 1";
    if (!squared && Math.abs(margin[i] - eta) <= tight) return "type 2";
    return margin[i] < -tight ? "misclassified" : margin[i] <= tight ? "on hyperplane" : "in slab";
  });

  const solve = ({ points, machine, values, limits }) => {
    const s = points.map((t) => t[2]), X = points.map(([x, y]) => [x, y]), n = s.length, kernel = kernelOf(values);
    if (new Set(s).size < 2) throw new Refusal("There must be a point of each colour.");
    const dual = program(machine, values, s), { hard, unit, priced, squared, penalized, price, total, bound } = dual;
    const ridge = squared ? 1 / (2 * price) : 0, shift = penalized ? 1 : 0;
    const P = X.map((x, i) => Float64Array.from(X, (y, j) => s[i] * s[j] * (kernel(x, y) + shift) + (i === j ? ridge : 0)));
    const A = [], c = [], all = (t) => new Float64Array(n).fill(t), upper = Math.min(bound, 2 * (total ?? Infinity));
    if (!penalized) A.push(Float64Array.from(s)), c.push(0);
    if (total !== null) A.push(all(1)), c.push(total);
    const a = snap(solveQP({ P, q: all(priced ? -1 : 0), A, c, u: all(upper) }, machine).x, upper), lengths = P.map((row, i) => Math.sqrt(Math.max(row[i], 0))), reach = dot(a, lengths) ** 2;
    let G = times(P, a);
    const square = dot(a, G);
    if (hard && square <= 1e-12 * reach) {
      throw new Refusal("no hyperplane separates the two classes in feature space: their convex hulls meet, in the point with the "
        + "coefficients error.witness; use a soft margin or another kernel");
    }
    const vanishes = !hard && !priced && !squared && square <= 1e-10 * reach && lost(dual, values, s, X);
    if (vanishes) {
      const nothing = { b: 0, eta: 0, norm: 0, delta: unit ? 0 : NaN, objective: 0, b_interval: [0, 0] };
      return { ...nothing, message: vanishes, multipliers: a, slacks: Array(n).fill(0), places: Array(n).fill("undetermined") };
    }
    if (hard) {
      a.forEach((_, i) => (a[i] *= 2 / square));
      G = times(P, a);
    }
    const { b, eta, b_interval } = levels(dual, s, a, G), margin = G.map((t, i) => t - ridge * a[i] - (penalized ? 0 : s[i] * b));
    const tight = 1e-9 * (largest(G) + Math.abs(eta) + Math.abs(b)), ww = dot(a, G) - ridge * dot(a, a) - shift * b * b;
    const slacks = a.map((t, i) => (squared ? ridge * t : t >= bound && eta - margin[i] > tight ? eta - margin[i] : 0));
    const length = ww > 1e-13 * reach ? Math.sqrt(ww) : 0, scale = unit ? 1 / length : 1, norm = length * scale; // (SVM_s1): |w| = 1
    const coefficients = a.map((t, i) => t * s[i] * scale);
    const f = (x) => coefficients.reduce((t, ai, i) => (ai ? t + ai * kernel(X[i], x) : t), -b * scale);
    const spent = squared ? price * dot(slacks, slacks) : hard ? 0 : price * sum(slacks) * scale;
    const fixed = unit ? -eta * scale : norm * norm / 2 + shift * b * b / 2 - (hard || priced ? 0 : total * eta);
    const count = (test) => [1, -1].map((colour) => s.filter((t, i) => t === colour && test(a[i])).length);
    return {
      multipliers: a, slacks: slacks.map((t) => t * scale), places: placed(dual, a, margin, eta, tight),
      b: b * scale, eta: eta * scale, b_interval: b_interval.map((t) => t * scale), norm, objective: fixed + spent,
      delta: norm > 0 ? (eta * scale) / norm : eta > 0 ? Infinity : NaN,
      counts: [...count((t) => t >= bound), ...count((t) => t > 0)],
      bound: { SVMs1: 1 / (2 * price), SVMs2prime: (values.nu * n) / 2, SVMs3: values.nu * n }[machine] ?? null,
      w: (values.kernel ?? "linear") === "linear" && norm > 0 ? [0, 1].map((k) => sum(X.map((x, i) => coefficients[i] * x[k]))) : null,
      field: norm > 0 ? field(f, limits) : null,
    };
  };

  // The counts beside the bounds that Propositions 18.1 and 18.3 prove for them.
  const proved = (machine, [pf, qf, pm, qm], bound) => {
    if (machine === "SVMs3") return [["p_f+q_f ≤ ν(p+q) ≤ p_m+q_m", `${pf + qf} ≤ ${text(bound)} ≤ ${pm + qm}`]];
    if (bound === null) return [["p_f, q_f, p_m, q_m", [pf, qf, pm, qm]]];
    const name = machine === "SVMs1" ? "1/(2K)" : "ν(p+q)/2";
    return [["p", pf, pm], ["q", qf, qm]].map(([t, f, m]) => [`${t}_f ≤ ${name} ≤ ${t}_m`, `${f} ≤ ${text(bound)} ≤ ${m}`]);
  };

  const view = (result, { points, limits, machine }) => {
    const { multipliers, slacks, places, b, eta, norm, delta, objective, b_interval: [low, high], counts, bound, w } = result;
    const most = largest(multipliers) || 1;
    const marks = multipliers.map((a, i) => ({
      size: Math.abs(a) / most, active: a !== 0, ring: places[i] === "type 1", cross: places[i] === "misclassified",
      cells: [a, slacks[i], places[i]],
    }));
    const lines = result.field ? [["middle", 0], ["blue", eta], ["red", -eta]] : [];
    const shapes = lines.map(([name, level]) => ["path", name, contours(result.field, limits, level)]);
    const square = w ? dot(w, w) : 0; // a point with slack is as far from its margin line as slack over the norm of w
    const arrows = points.map(([x, y, s], i) => [[x, y], [0, 1].map((k) => points[i][k] + (s * slacks[i] * w?.[k]) / square)]);
    if (square > 0) shapes.push(["arrows", "arrow", arrows.filter((_, i) => slacks[i] > 0)]);
    const facts = Object.entries({ b, η: eta, "‖w‖": norm, δ: delta, objective });
    if (high > low) facts.push(["b from, to", [low, high]]);
    return { marks, shapes, facts: counts ? [...facts, ...proved(machine, counts, bound)] : facts };
  };

  companionBoards.kinds.point = {
    label: "Points of two classes and the fitted hyperplanes", axes: ["x₁", "x₂"], head: ["multiplier", "slack", "place"],
    adds: [[1, "blue point", "a"], [-1, "red point", "b"]], colour: (s) => (s > 0 ? "blue" : "red"), equal: true, solve, view,
  };
})();
