// Chapter 16 in the browser: the first steps of ADMM in the plane, for x - z = 0, as companion.admm.admm takes them.
//
//   x = argmin f(x) + rho/2 |x - (z - u)|^2,   h = alpha x + (1 - alpha) z,
//   z = argmin g(z) + rho/2 |z - (h + u)|^2,   u = u + h - z
(() => {
  const { Refusal, solver: { dot }, numbers: { text }, curves: { circle } } = companionBoards;
  const STEPS = 60, Q = [2, 1.2, 1]; // f(x) = 1/2 (x - c)'Q(x - c) of the lasso
  const add = (x, y, t = 1) => [x[0] + t * y[0], x[1] + t * y[1]], minus = (x, y) => add(x, y, -1);
  const norm = ([x, y]) => Math.hypot(x, y);

  // x is the nearest point of the disc, z that of the line.
  const sets = ([, centre, first, second], { radius }) => {
    const along = minus(second, first);
    if (norm(along) === 0) throw new Refusal("The two points of the line must differ.");
    return [
      (v) => add(centre, minus(v, centre), Math.min(1, radius / (norm(minus(v, centre)) || 1))),
      (v) => add(first, along, dot(minus(v, first), along) / norm(along) ** 2),
    ];
  };
  // x solves (Q + rho I) x = Q c + rho v, z is the soft threshold of v at tau/rho.
  const lasso = ([, c], { rho, tau }) => {
    const [p, q, s] = [Q[0] + rho, Q[1], Q[2] + rho], right = [Q[0] * c[0] + Q[1] * c[1], Q[1] * c[0] + Q[2] * c[1]];
    return [
      (v) => {
        const [a, b] = add(right, v, rho);
        return [(s * a - q * b) / (p * s - q * q), (p * b - q * a) / (p * s - q * q)];
      },
      (v) => v.map((t) => Math.sign(t) * Math.max(Math.abs(t) - tau / rho, 0)),
    ];
  };

  const solve = ({ points, machine, values }) => {
    const [nearestX, nearestZ] = (machine === "sets" ? sets : lasso)(points, values);
    const { alpha, rho = 1 } = values, found = { x: [], z: [points[0].slice(0, 2)], primal: [], dual: [] };
    let u = [0, 0];
    for (let k = 0; k < STEPS; k++) {
      const old = found.z[k], x = nearestX(minus(old, u)), h = add(old, minus(x, old), alpha), z = nearestZ(add(h, u));
      u = add(u, minus(h, z));
      found.x.push(x);
      found.z.push(z);
      found.primal.push(norm(minus(x, z)));
      found.dual.push(rho * norm(add(minus(old, z), minus(x, old), alpha - 1)));
    }
    return found;
  };

  const view = ({ x, z, primal, dual }, { points, machine, values, limits: [left, right, bottom, top] }) => {
    const [, centre, first, second] = points, disc = machine === "sets";
    const b = Q[1] / Math.sqrt(Q[0]), d = Math.sqrt(Q[2] - b * b); // Q = LL', and an ellipse is a circle of L'(x - c)
    const ellipse = (r) => circle((s, t) => add(centre, [(s - (b * t) / d) / Math.sqrt(Q[0]), t / d], r));
    const round = circle((s, t) => add(centre, [s, t], values.radius)), along = minus(second, first);
    const far = (right - left + top - bottom) / norm(along), line = [add(first, along, -far), add(first, along, far)];
    const shapes = disc
      ? [["path", "inside", [round]], ["path", "blue", [round]], ["path", "red", [line]]]
      : [["path", "blue", [0.7, 1.4, 2.1].map(ellipse)],
        ["path", "red", [[[left, 0], [right, 0]], [[0, bottom], [0, top]]]]];
    const stairs = x.flatMap((at, k) => [z[k], at]);
    shapes.push(["path", "arrow", [stairs]], ["dots", "blue", x], ["dots", "red", z.slice(1)]);
    const marks = points.map((_, i) => ({ active: true, size: 0.3, hidden: !disc && i > 1, cells: [] }));
    const log = (list) => list.flatMap((r, k) => (r > 1e-16 ? [[k + 1, Math.log10(r)]] : []));
    const small = primal.findIndex((r, k) => r < 1e-6 && dual[k] < 1e-6) + 1;
    const facts = {
      "z at the end": z.at(-1), "‖r‖ at the end": primal.at(-1), "‖s‖ at the end": dual.at(-1),
      "steps until both are below 1e-6": small || `more than ${text(STEPS)}`,
    };
    const residuals = [
      ["path", "blue", [log(primal)]], ["path", "red", [log(dual)]],
      ["text", "", [2, 1.2], "log₁₀ of ‖r‖ (dashed) and ‖s‖ (dotted), by steps"],
    ];
    return { marks, shapes, facts, second: { limits: [0, STEPS, -12, 2], shapes: residuals } };
  };

  companionBoards.kinds.steps = {
    label: "Two sets, or the ellipses of a lasso, and the iterates of ADMM between them", axes: ["x₁", "x₂"],
    names: ["start", "centre", "line, first point", "line, second point"], equal: true, solve, view,
    second: { label: "Norms of the two residuals, by steps, as powers of ten" },
  };
})();
