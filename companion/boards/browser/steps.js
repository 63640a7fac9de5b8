// Chapter 16 in the browser: the first steps of ADMM in the plane, for x - z = 0, as companion.admm.admm takes them.
//
//   x = argmin f(x) + rho/2 |x - (z - u)|^2,   h = alpha x + (1 - alpha) z,
//   z = argmin g(z) + rho/2 |z - (h + u)|^2,   u = u + h - z
(() => {
  const { Refusal, solver: { dot }, numbers: { text }, curves: { circle } } = companionBoards;
  const STEPS = 60, Q = [2, 1.2, 1], SETS = "a disc and a line"; // f(x) = 1/2 (x - c)'Q(x - c) of the lasso
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

  const solve = ({ points, values }) => {
    const disc = values.program === SETS, [nearestX, nearestZ] = (disc ? sets : lasso)(points, values);
    const { alpha } = values, rho = disc ? 1 : values.rho, x = [], z = [points[0].slice(0, 2)], found = { x, z };
    const [r, s] = [found.primal_residual, found.dual_residual] = [[], []];
    let u = [0, 0];
    for (let k = 0; k < STEPS; k++) {
      x.push(nearestX(minus(z[k], u)));
      const h = add(z[k], minus(x[k], z[k]), alpha);
      z.push(nearestZ(add(h, u)));
      u = add(u, minus(h, z[k + 1]));
      r.push(norm(minus(x[k], z[k + 1])));
      s.push(rho * norm(add(minus(z[k], z[k + 1]), minus(x[k], z[k]), alpha - 1)));
    }
    return found;
  };

  const view = (result, { points: [, centre, first, second], values, limits: [left, right, bottom, top] }) => {
    const { x, z, primal_residual: r, dual_residual: s } = result, disc = values.program === SETS;
    const b = Q[1] / Math.sqrt(Q[0]), d = Math.sqrt(Q[2] - b * b); // Q = LL', and an ellipse is a circle of L'(x - c)
    const ellipse = (size) => circle((p, q) => add(centre, [(p - (b * q) / d) / Math.sqrt(Q[0]), q / d], size));
    const round = circle((p, q) => add(centre, [p, q], values.radius)), along = minus(second, first);
    const far = (right - left + top - bottom) / norm(along), line = [add(first, along, -far), add(first, along, far)];
    const shapes = disc
      ? [["inside", [round]], ["blue", [round]], ["red", [line]]]
      : [["blue", [0.7, 1.4, 2.1].map(ellipse)], ["red", [[[left, 0], [right, 0]], [[0, bottom], [0, top]]]]];
    const dots = (list) => list.map((at) => [at, at]);
    shapes.push(["thin", [x.flatMap((at, k) => [z[k], at])]], ["blue dots", dots(x)], ["red dots", dots(z.slice(1))]);
    const marks = [0, 1, 2, 3].map((i) => ({ active: true, size: 0.3, hidden: !disc && i > 1 }));
    const log = (list) => list.flatMap((t, k) => (t > 1e-16 ? [[k + 1, Math.log10(t)]] : []));
    const small = r.findIndex((t, k) => t < 1e-6 && s[k] < 1e-6) + 1;
    const facts = {
      "z at the end": z.at(-1), "‖r‖ at the end": r.at(-1), "‖s‖ at the end": s.at(-1),
      "steps until both are below 1e-6": small || `more than ${text(STEPS)}`,
    };
    const words = ["text", [2, 1.2], "log₁₀ of ‖r‖ (dashed) and ‖s‖ (dotted), by steps"];
    const residuals = [["blue", [log(r)]], ["red", [log(s)]], words];
    return { marks, shapes, facts, second: { limits: [0, STEPS, -12, 2], shapes: residuals } };
  };

  companionBoards.kinds.steps = {
    label: "Two sets, or the ellipses of a lasso, and the iterates of ADMM between them", equal: true, solve, view,
    names: ["start", "centre", "line, first point", "line, second point"],
    second: { label: "Norms of the two residuals, by steps, as powers of ten" },
    call: ([start, centre, ...line]) => ["step_board", start, centre, line],
  };
})();
