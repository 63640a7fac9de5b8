// Chapter 16 in the browser: the first steps of ADMM in the plane, for x - z = 0, as companion.admm.admm takes them.
//
//   x = argmin f(x) + rho/2 |x - (z - u)|^2,   h = a x + (1 - a) z,   z = argmin g(z) + rho/2 |z - (h + u)|^2,   u = u + h - z
(() => {
  const { text } = companionBoards.solver;
  const STEPS = 60, Q = [2, 1.2, 1]; // f(x) = 1/2 (x - c)'Q(x - c) of the lasso
  const combine = (s, a, t, b) => [s * a[0] + t * b[0], s * a[1] + t * b[1]], norm = ([x, y]) => Math.hypot(x, y);

  // x is the nearest point of the disc, z that of the line.
  const sets = ([, centre, first, second], { radius }) => {
    const along = combine(1, second, -1, first), length = norm(along);
    if (length === 0) throw Error("The two points of the line must differ.");
    return [
      (v) => {
        const d = combine(1, v, -1, centre);
        return combine(1, centre, Math.min(1, radius / (norm(d) || 1)), d);
      },
      (v) => combine(1, first, ((v[0] - first[0]) * along[0] + (v[1] - first[1]) * along[1]) / length ** 2, along),
    ];
  };
  // x solves (Q + rho I) x = Q c + rho v, z is the soft threshold of v at tau/rho.
  const lasso = ([, c], { rho, tau }) => {
    const [p, q, s] = [Q[0] + rho, Q[1], Q[2] + rho], det = p * s - q * q;
    return [
      (v) => {
        const [a, b] = [Q[0] * c[0] + Q[1] * c[1] + rho * v[0], Q[1] * c[0] + Q[2] * c[1] + rho * v[1]];
        return [(s * a - q * b) / det, (p * b - q * a) / det];
      },
      (v) => v.map((t) => Math.sign(t) * Math.max(Math.abs(t) - tau / rho, 0)),
    ];
  };

  const solve = ({ points, machine, values }) => {
    let updates;
    try {
      updates = (machine === "sets" ? sets : lasso)(points.map((p) => p.slice(0, 2)), values);
    } catch (error) {
      return { message: error.message };
    }
    const a = values.alpha, rho = values.rho ?? 1, found = { x: [], z: [points[0].slice(0, 2)], primal: [], dual: [] };
    let u = [0, 0];
    for (let k = 0; k < STEPS; k++) {
      const old = found.z[k], x = updates[0](combine(1, old, -1, u)), h = combine(a, x, 1 - a, old), z = updates[1](combine(1, h, 1, u));
      u = combine(1, u, 1, combine(1, h, -1, z));
      found.x.push(x);
      found.z.push(z);
      found.primal.push(norm(combine(1, x, -1, z)));
      found.dual.push(rho * norm(combine(1, combine(1, old, -1, z), a - 1, combine(1, x, -1, old))));
    }
    return { message: "", solved: true, size: points.length, ...found };
  };

  const view = ({ x, z, primal, dual }, { points, machine, values, limits: [left, right, bottom, top] }) => {
    const [, centre, first, second] = points, disc = machine === "sets", far = right - left + top - bottom;
    const round = (map) => Array.from({ length: 97 }, (_, i) => map(Math.cos((Math.PI * i) / 48), Math.sin((Math.PI * i) / 48)));
    const circle = round((s, t) => [centre[0] + values.radius * s, centre[1] + values.radius * t]);
    const b = Q[1] / Math.sqrt(Q[0]), d = Math.sqrt(Q[2] - b * b); // Q = LL', and an ellipse is a circle of L'(x - c)
    const ellipses = [0.7, 1.4, 2.1].map((r) => round((s, t) => [centre[0] + (r * (s - (b * t) / d)) / Math.sqrt(Q[0]), centre[1] + (r * t) / d]));
    const along = disc ? combine(1, second, -1, first) : [0, 0], unit = combine(far / (norm(along) || 1), along, 0, along);
    const shapes = disc
      ? [["path", "inside", [circle]], ["path", "blue", [circle]], ["path", "red", [[combine(1, first, -1, unit), combine(1, first, 1, unit)]]]]
      : [["path", "blue", ellipses], ["path", "red", [[[left, 0], [right, 0]], [[0, bottom], [0, top]]]]];
    shapes.push(["path", "arrow", [z.slice(0, -1).flatMap((old, k) => [old, x[k]])]]);
    shapes.push(...x.map((at) => ["mark", "blue", at]), ...z.slice(1).map((at) => ["mark", "red", at]));
    const marks = points.map((_, i) => ({ active: true, size: 0.3, hidden: !disc && i > 1, cells: [] }));
    const log = (list) => list.flatMap((r, k) => (r > 1e-16 ? [[k + 1, Math.log10(r)]] : []));
    const small = primal.findIndex((r, k) => r < 1e-6 && dual[k] < 1e-6) + 1, last = z.at(-1).map(text).join(", ");
    const facts = [["z at the end", last], ["‖r‖ at the end", text(primal.at(-1))], ["‖s‖ at the end", text(dual.at(-1))]];
    facts.push(["steps until both are below 1e-6", small ? String(small) : `more than ${primal.length}`]);
    const second_ = [["path", "blue", [log(primal)]], ["path", "red", [log(dual)]], ["text", "", [2, 1.2], "log₁₀ of ‖r‖ (dashed) and ‖s‖ (dotted), by steps"]];
    return { marks, shapes, facts, second: { limits: [0, primal.length, -12, 2], shapes: second_ } };
  };

  companionBoards.kinds.steps = {
    label: "Two sets, or the ellipses of a lasso, and the iterates of ADMM between them", axes: ["x₁", "x₂"], head: [], adds: [],
    names: ["start", "centre", "line, first point", "line, second point"], colour: () => "grey", equal: true, solve, view,
    second: "Norms of the two residuals, by steps, as powers of ten",
  };
})();
