// Chapter 20 in the browser: the tube of nu-SV and epsilon-SV regression over a line, as companion.svr finds it.
//
//   min 1/2 d'Kd - y'd + epsilon |d|_1   subject to   1'd = 0,  |d_i| <= C/m,  |d|_1 <= C nu,   d = mu - lambda,
//
// a quadratic program in lambda, mu >= 0 and the rest gamma = C nu - |d|_1. nu-SV regression has epsilon = 0 in it.
(() => {
  const { solver: { solveQP, dot, times, largest }, curves: { sample } } = companionBoards;
  const { kernelOf, sum, snap, interval, middle, marksOf, countOf, between, open, refuse } = companionBoards.numbers;

  // b and epsilon: b - epsilon is the level of the blue points (d < 0), b + epsilon that of the red ones.
  const levels = (d, s, c, given) => {
    const below = d.map((t) => (t >= 0 ? -1 : t <= -c ? 1 : 0)), above = d.map((t) => (t >= c ? -1 : t <= 0 ? 1 : 0));
    if (given !== null) {
      const b = interval([...s.map((t) => t - given), ...s.map((t) => t + given)], [...above, ...below]);
      return { b: middle(b), epsilon: given, b_interval: b, epsilon_interval: [given, given] };
    }
    const blue = interval(s, below), red = interval(s, above);
    const b = [(Math.max(red[0], blue[0]) + blue[0]) / 2, (red[1] + Math.min(blue[1], red[1])) / 2];
    const width = [Math.max(red[0] - blue[1], 0) / 2, Math.max(red[1] - blue[0], 0) / 2];
    const found = { b: middle(b), epsilon: middle(width), b_interval: b, epsilon_interval: width };
    if (red[0] < blue[1]) return found;
    return { ...found, b: (middle(red) + middle(blue)) / 2, epsilon: (middle(red) - middle(blue)) / 2 };
  };

  const solve = ({ points, values, limits: [left, right] }) => {
    const m = points.length, { C, program } = values, c = C / m, ball = program === "ν-SV regression";
    const nu = values.nu, epsilon = ball ? 0 : values.epsilon, y = points.map((t) => t[1]);
    if (!m) refuse("There must be a point.");
    const { gram: K, expansion } = kernelOf(values, points.map((t) => [t[0], 0]));
    const centre = (Math.min(...y) + Math.max(...y)) / 2, z = y.map((t) => t - centre); // 1'd = 0 allows it
    const side = Float64Array.from([...y.map(() => -1), ...y.map(() => 1), ...(ball ? [0] : [])]); // lambda, mu, gamma
    const P = [...side].map((si, i) => side.map((sj, j) => (si && sj ? si * sj * K[i % m][j % m] : 0)));
    const q = side.map((si, i) => (si ? epsilon - si * z[i % m] : 0));
    const u = side.map((si) => (si ? c : C * (2 * nu + 1)));
    const equations = ball ? { A: [side, side.map(() => 1)], c: [0, C * nu] } : { A: [side], c: [0] };
    const { x: both } = solveQP({ P, q, u, ...equations }, program), raw = y.map((_, i) => both[m + i] - both[i]);
    const d = snap(raw.map(Math.abs), c).map((t, i) => t * Math.sign(raw[i]) + 0);
    const Kd = times(K, d), s = z.map((t, i) => t - Kd[i]), spent = sum(d.map(Math.abs));
    const at = levels(d, s, c, ball && spent >= C * nu * (1 - 1e-11) ? null : epsilon), r = s.map((t) => t - at.b);
    const tight = 1e-9 * (largest(z) + largest(Kd) + Math.abs(at.b)), norm = Math.sqrt(Math.max(dot(d, Kd), 0));
    const over = r.map((t) => Math.abs(t) - at.epsilon);
    const slacks = over.map((t, i) => (Math.abs(d[i]) >= c && t > tight ? t : 0));
    const placed = (t, i) => {
      if (t) return slacks[i] ? "error" : Math.abs(t) < c ? "type 1" : "type 2";
      return Math.abs(over[i]) <= tight ? "exceptional" : "inside";
    };
    return {
      multipliers: d, slacks, places: d.map(placed), norm, nu: ball ? nu : spent / C,
      ...at, b: at.b + centre, b_interval: at.b_interval.map((t) => t + centre),
      objective: (norm * norm) / 2 + (ball ? C * nu * at.epsilon : 0) + c * sum(slacks),
      counts: countOf(d.map((t) => -t), c),
      values: sample(left, right).map((t) => [t, 0]).map(expansion(d, at.b + centre)),
    };
  };

  const view = (result, { points, limits: [left, right] }) => {
    const { multipliers: d, slacks, b, epsilon, norm, objective, nu, counts: [pf, qf, pm, qm] } = result;
    const at = sample(left, right), line = (shift) => result.values.map((t, i) => [at[i], t + shift]);
    const marks = marksOf(result).map((mark, i) => ({ ...mark, colour: ["blue", "grey", "red"][Math.sign(d[i]) + 1] }));
    const arrows = points.map(([x, y], i) => [[x, y], [x, y - Math.sign(d[i]) * slacks[i]]]);
    const shapes = [
      ["inside", [[...line(-epsilon), ...line(epsilon).reverse()]]], ["middle", [line(0)]], ["blue", [line(-epsilon)]],
      ["red", [line(epsilon)]], ["arrow", arrows.filter((_, i) => slacks[i])],
    ];
    // Proposition 20.2: at most m nu/2 points fail the margin on each side; where epsilon > 0, at least as many have a
    // multiplier.
    const bound = ["mν/2", (points.length * nu) / 2], have = (name, count) => epsilon > 0 && [name, count];
    const facts = {
      b, ε: epsilon, "‖w‖": norm, objective, ν: nu, ...open({ b: result.b_interval, ε: result.epsilon_interval }),
      ...between(["p_f", pf], bound, have("p_m", pm)), ...between(["q_f", qf], bound, have("q_m", qm)),
    };
    return { marks, shapes, facts };
  };

  companionBoards.kinds.tube = {
    label: "Points over a line and the tube of the regression", solve, view,
    call: (points) => ["tube_board", ...[0, 1].map((k) => points.map((t) => t[k]))],
  };
})();
