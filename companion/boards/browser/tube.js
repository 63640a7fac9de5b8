// Chapter 20 in the browser: the tube of nu-SV and epsilon-SV regression over a line, as companion.svr finds it.
//
//   min 1/2 d'Kd - y'd + epsilon |d|_1   subject to   1'd = 0,  |d_i| <= C/m,  |d|_1 <= C nu,   d = mu - lambda,
//
// a quadratic program in lambda, mu >= 0 and the rest gamma = C nu - |d|_1. nu-SV regression has epsilon = 0 in it.
(() => {
  const { solveQP, dot, times, largest, KERNELS, snap, interval, middle, text } = companionBoards.solver;
  const SAMPLES = 241; // of f

  // b and epsilon: l = b - epsilon is the level of the blue points (d < 0), u = b + epsilon that of the red ones.
  const tube = (d, s, c, tight, epsilon) => {
    const is = (test) => d.map(test);
    if (tight) {
      const blue = interval(s, is((t) => t >= 0), is((t) => t <= -c)), red = interval(s, is((t) => t >= c), is((t) => t <= 0));
      const b = [(Math.max(red[0], blue[0]) + blue[0]) / 2, (red[1] + Math.min(blue[1], red[1])) / 2];
      const width = [Math.max(red[0] - blue[1], 0) / 2, Math.max(red[1] - blue[0], 0) / 2];
      if (red[0] < blue[1]) return { b: middle(b), epsilon: middle(width), b_interval: b, epsilon_interval: width };
      return { b: (middle(red) + middle(blue)) / 2, epsilon: (middle(red) - middle(blue)) / 2, b_interval: b, epsilon_interval: width };
    }
    const free = s.filter((_, i) => Math.abs(d[i]) < c && (d[i] !== 0 || epsilon === 0));
    const signs = d.filter((t) => Math.abs(t) < c && (t !== 0 || epsilon === 0)).map(Math.sign);
    let low, high;
    if (free.length) low = high = free.reduce((t, x, i) => t + x - signs[i] * epsilon, 0) / free.length;
    else {
      low = Math.max(...s.map((t, i) => (d[i] === 0 ? t - epsilon : d[i] <= -c ? t + epsilon : -Infinity)));
      high = Math.min(...s.map((t, i) => (d[i] === 0 ? t + epsilon : d[i] >= c ? t - epsilon : Infinity)));
      if (low > high) low = high = (low + high) / 2;
    }
    return { b: middle([low, high]), epsilon, b_interval: [low, high], epsilon_interval: [epsilon, epsilon] };
  };

  let last = {};
  const solve = ({ points, machine, values, limits: [left, right] }) => {
    const m = points.length;
    if (!m) return { message: "There must be a point." };
    const x = points.map((t) => [t[0], 0]), y = points.map((t) => t[1]), C = values.C, c = C / m;
    const kernel = KERNELS[values.kernel](values.sigma), given = machine === "EpsilonSVR" ? values.epsilon : 0;
    const K = x.map((xi) => Float64Array.from(x, (xj) => kernel(xi, xj)));
    const centre = (Math.min(...y) + Math.max(...y)) / 2, z = y.map((t) => t - centre); // 1'd = 0 allows it
    const ball = machine === "NuSVR", N = 2 * m + (ball ? 1 : 0), side = (i) => (i < m ? -1 : i < 2 * m ? 1 : 0);
    const P = Array.from({ length: N }, (_, i) => Float64Array.from({ length: N }, (_, j) => (side(i) && side(j) ? side(i) * side(j) * K[i % m][j % m] : 0)));
    const q = Float64Array.from({ length: N }, (_, i) => (side(i) ? given - side(i) * z[i % m] : 0));
    const A = [Float64Array.from({ length: N }, (_, i) => side(i))], b = [0];
    if (ball) A.push(new Float64Array(N).fill(1)), b.push(C * values.nu);
    const upper = Float64Array.from({ length: N }, (_, i) => (side(i) ? c : Infinity));
    const key = `${machine} ${values.kernel}`;
    const found = solveQP(P, q, A, b, upper, last.key === key ? last : null);
    last = { key, ...found };
    const raw = Float64Array.from(x, (_, i) => found.x[m + i] - found.x[i]);
    const d = snap(raw.map(Math.abs), c).map((t, i) => t * Math.sign(raw[i]) + 0), Kd = times(K, d), s = z.map((t, i) => t - Kd[i]);
    const spent = d.reduce((t, di) => t + Math.abs(di), 0), tight = ball && spent >= C * values.nu * (1 - 1e-11);
    const at = tube(d, s, c, tight, given), r = s.map((t) => t - at.b), size = largest(z) + largest(Kd) + Math.abs(at.b);
    const slacks = r.map((t, i) => (Math.abs(d[i]) >= c && Math.abs(t) - at.epsilon > 1e-9 * size ? Math.abs(t) - at.epsilon : 0));
    const places = d.map((t, i) => (slacks[i] ? "error" : t && Math.abs(t) < c ? "type 1" : t ? "type 2"
      : Math.abs(Math.abs(r[i]) - at.epsilon) <= 1e-9 * size ? "exceptional" : "inside"));
    const norm = Math.sqrt(Math.max(dot(d, Kd), 0)), count = (test) => d.filter(test).length;
    const f = (t) => d.reduce((sum, di, i) => (di ? sum + di * kernel(x[i], [t, 0]) : sum), at.b + centre);
    return {
      message: "", solved: true, size: m, multipliers: d, slacks, places, ...at, b: at.b + centre, b_interval: at.b_interval.map((t) => t + centre),
      norm, objective: (norm * norm) / 2 + (ball ? C * values.nu * at.epsilon : 0) + c * slacks.reduce((t, e) => t + e, 0),
      nu: ball ? values.nu : spent / C,
      counts: [count((t) => t <= -c), count((t) => t >= c), count((t) => t < 0), count((t) => t > 0)],
      values: Array.from({ length: SAMPLES }, (_, k) => f(left + ((right - left) * k) / (SAMPLES - 1))), fitted: y.map((t, i) => t - r[i]),
    };
  };

  const view = (result, { points, limits: [left, right] }) => {
    const { multipliers: d, slacks, places, b, epsilon, norm, objective, nu, counts: [pf, qf, pm, qm], values, fitted, b_interval, epsilon_interval } = result;
    const m = points.length, most = Math.max(...d.map(Math.abs), 1e-300);
    const line = (shift) => values.map((t, k) => [left + ((right - left) * k) / (values.length - 1), t + shift]);
    const colour = (i) => (Math.sign(d[i]) || (places[i] === "exceptional" ? Math.sign(points[i][1] - fitted[i]) : 0));
    const marks = d.map((t, i) => ({
      size: Math.abs(t) / most, active: t !== 0, ring: places[i] === "type 1", colour: ["blue", "grey", "red"][colour(i) + 1],
      cells: [text(t), text(slacks[i]), places[i]],
    }));
    const shapes = [
      ["path", "inside", [[...line(-epsilon), ...line(epsilon).reverse()]]],
      ["path", "middle", [line(0)]], ["path", "blue", [line(-epsilon)]], ["path", "red", [line(epsilon)]],
      ["arrows", "arrow", points.flatMap(([x, y], i) => (slacks[i] ? [[[x, y], [x, fitted[i] + Math.sign(d[i]) * epsilon]]] : []))],
    ];
    const facts = [["b", text(b)], ["ε", text(epsilon)], ["‖w‖", text(norm)], ["objective", text(objective)], ["ν", text(nu)]];
    for (const [name, [low, high]] of [["b", b_interval], ["ε", epsilon_interval]]) {
      if (high - low > 1e-9 * (Math.abs(low) + Math.abs(high))) facts.push([`${name} from, to`, `${text(low)}, ${text(high)}`]);
    }
    // Proposition 20.2: at most m nu/2 points fail the margin on each side; where epsilon > 0, at least as many have a multiplier.
    const half = text((m * nu) / 2), wide = epsilon > 0;
    for (const [letter, fail, some] of [["p", pf, pm], ["q", qf, qm]]) {
      facts.push([`${letter}_f ≤ mν/2${wide ? ` ≤ ${letter}_m` : ""}`, `${fail} ≤ ${half}${wide ? ` ≤ ${some}` : ""}`]);
    }
    return { marks, shapes, facts };
  };

  companionBoards.kinds.tube = {
    label: "Points over a line and the tube of the regression", axes: ["x", "y"], head: ["μ − λ", "slack", "place"],
    adds: [[1, "point", "a"]], colour: () => "grey", solve, view,
  };
})();
