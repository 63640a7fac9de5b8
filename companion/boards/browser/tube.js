// Chapter 20 in the browser: the tube of nu-SV and epsilon-SV regression over a line, as companion.svr finds it.
//
//   min 1/2 d'Kd - y'd + epsilon |d|_1   subject to   1'd = 0,  |d_i| <= C/m,  |d|_1 <= C nu,   d = mu - lambda,
//
// a quadratic program in lambda, mu >= 0 and the rest gamma = C nu - |d|_1. nu-SV regression has epsilon = 0 in it.
(() => {
  const { Refusal, solver: { solveQP, dot, times, largest }, curves: { sample, graph } } = companionBoards;
  const { kernelOf, sum, snap, interval, middle, text } = companionBoards.numbers;
  const SAMPLES = 241; // of f

  // b and epsilon: l = b - epsilon is the level of the blue points (d < 0), u = b + epsilon that of the red ones.
  const levels = (d, s, c, tight, epsilon) => {
    const is = (test) => d.map(test);
    if (tight) {
      const blue = interval(s, is((t) => t >= 0), is((t) => t <= -c)), red = interval(s, is((t) => t >= c), is((t) => t <= 0));
      const b = [(Math.max(red[0], blue[0]) + blue[0]) / 2, (red[1] + Math.min(blue[1], red[1])) / 2];
      const width = [Math.max(red[0] - blue[1], 0) / 2, Math.max(red[1] - blue[0], 0) / 2], open = red[0] < blue[1];
      const [plus, minus] = [middle(red), middle(blue)];
      return {
        b: open ? middle(b) : (plus + minus) / 2, epsilon: open ? middle(width) : (plus - minus) / 2,
        b_interval: b, epsilon_interval: width,
      };
    }
    const twice = [...s.map((t) => t - epsilon), ...s.map((t) => t + epsilon)]; // for mu, for lambda
    const b = interval(twice, [...is((t) => t >= c), ...is((t) => t >= 0)], [...is((t) => t <= 0), ...is((t) => t <= -c)]);
    return { b: middle(b), epsilon, b_interval: b, epsilon_interval: [epsilon, epsilon] };
  };

  const solve = ({ points, machine, values, limits: [left, right] }) => {
    const m = points.length, { C } = values, c = C / m, ball = machine === "NuSVR", given = ball ? 0 : values.epsilon;
    if (!m) throw new Refusal("There must be a point.");
    const x = points.map((t) => [t[0], 0]), y = points.map((t) => t[1]), kernel = kernelOf(values);
    const K = x.map((xi) => Float64Array.from(x, (xj) => kernel(xi, xj)));
    const centre = (Math.min(...y) + Math.max(...y)) / 2, z = y.map((t) => t - centre); // 1'd = 0 allows it
    const side = Float64Array.from([...x.map(() => -1), ...x.map(() => 1), ...(ball ? [0] : [])]); // of lambda, mu, gamma
    const P = [...side].map((si, i) => side.map((sj, j) => (si && sj ? si * sj * K[i % m][j % m] : 0)));
    const q = side.map((si, i) => (si ? given - si * z[i % m] : 0)), u = side.map((si) => (si ? c : C * (2 * values.nu + 1)));
    const equations = ball ? { A: [side, side.map(() => 1)], c: [0, C * values.nu] } : { A: [side], c: [0] };
    const { x: both } = solveQP({ P, q, u, ...equations }, machine), raw = y.map((_, i) => both[m + i] - both[i]), d = snap(raw.map(Math.abs), c).map((t, i) => t * Math.sign(raw[i]) + 0);
    const Kd = times(K, d), s = z.map((t, i) => t - Kd[i]), spent = sum(d.map(Math.abs));
    const at = levels(d, s, c, ball && spent >= C * values.nu * (1 - 1e-11), given), r = s.map((t) => t - at.b);
    const tight = 1e-9 * (largest(z) + largest(Kd) + Math.abs(at.b)), norm = Math.sqrt(Math.max(dot(d, Kd), 0));
    const slacks = r.map((t, i) => (Math.abs(d[i]) >= c && Math.abs(t) - at.epsilon > tight ? Math.abs(t) - at.epsilon : 0));
    const placed = (t, i) => {
      if (t) return slacks[i] ? "error" : Math.abs(t) < c ? "type 1" : "type 2";
      return Math.abs(Math.abs(r[i]) - at.epsilon) <= tight ? "exceptional" : "inside";
    };
    const f = (t) => d.reduce((value, di, i) => (di ? value + di * kernel(x[i], [t, 0]) : value), at.b + centre);
    const count = (test) => d.filter(test).length;
    return {
      multipliers: d, slacks, places: d.map(placed), ...at, b: at.b + centre, b_interval: at.b_interval.map((t) => t + centre), norm,
      objective: (norm * norm) / 2 + (ball ? C * values.nu * at.epsilon : 0) + c * sum(slacks), nu: ball ? values.nu : spent / C,
      counts: [count((t) => t <= -c), count((t) => t >= c), count((t) => t < 0), count((t) => t > 0)],
      values: sample(left, right, SAMPLES).map(f), fitted: y.map((t, i) => t - r[i]),
    };
  };

  const view = (result, { points, limits }) => {
    const { multipliers: d, slacks, places, b, epsilon, norm, objective, nu, counts: [pf, qf, pm, qm], fitted } = result;
    const most = largest(d) || 1, line = (shift) => graph(result.values, limits, shift);
    const colour = (i) => (Math.sign(d[i]) || (places[i] === "exceptional" ? Math.sign(points[i][1] - fitted[i]) : 0));
    const marks = d.map((t, i) => ({
      size: Math.abs(t) / most, active: t !== 0, ring: places[i] === "type 1", colour: ["blue", "grey", "red"][colour(i) + 1],
      cells: [t, slacks[i], places[i]],
    }));
    const arrows = points.map(([x, y], i) => [[x, y], [x, fitted[i] + Math.sign(d[i]) * epsilon]]);
    const shapes = [
      ["path", "inside", [[...line(-epsilon), ...line(epsilon).reverse()]]],
      ["path", "middle", [line(0)]], ["path", "blue", [line(-epsilon)]], ["path", "red", [line(epsilon)]],
      ["arrows", "arrow", arrows.filter((_, i) => slacks[i])],
    ];
    const facts = Object.entries({ b, ε: epsilon, "‖w‖": norm, objective, ν: nu });
    for (const [name, [low, high]] of Object.entries({ b: result.b_interval, ε: result.epsilon_interval })) {
      if (high - low > 1e-9 * (Math.abs(low) + Math.abs(high))) facts.push([`${name} from, to`, [low, high]]);
    }
    // Proposition 20.2: at most m nu/2 points fail the margin on each side; where epsilon > 0, at least as many have a multiplier.
    for (const [letter, fail, some] of [["p", pf, pm], ["q", qf, qm]]) {
      const [name, value] = epsilon > 0 ? [` ≤ ${letter}_m`, ` ≤ ${some}`] : ["", ""];
      facts.push([`${letter}_f ≤ mν/2${name}`, `${fail} ≤ ${text((points.length * nu) / 2)}${value}`]);
    }
    return { marks, shapes, facts };
  };

  companionBoards.kinds.tube = {
    label: "Points over a line and the tube of the regression", axes: ["x", "y"], head: ["μ − λ", "slack", "place"],
    adds: [[1, "point", "a"]], colour: () => "grey", solve, view,
  };
})();
