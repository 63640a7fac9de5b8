// Chapter 16 in the browser: the first steps of ADMM in the plane, for x - z = 0, as companion.admm.admm takes them.
//
//   x = argmin f(x) + rho/2 |x - (z - u)|^2,   h = alpha x + (1 - alpha) z,
//   z = argmin g(z) + rho/2 |z - (h + u)|^2,   u = u + h - z
(() => {
  const { solver: { dot }, numbers: { ridge, shrink, refuse }, curves: { circle, ellipse, dots } } = companionBoards;
  const STEPS = 60, Q = [2, 1.2, 1], SETS = "a disc and a line"; // f(x) = 1/2 (x - c)'Q(x - c) of the lasso
  const add = (x, y, t = 1) => [x[0] + t * y[0], x[1] + t * y[1]], minus = (x, y) => add(x, y, -1);
  const norm = ([x, y]) => Math.hypot(x, y);

  // x is the nearest point of the disc, z that of the line.
  const sets = ([, centre, first, second], { radius }) => {
    const along = minus(second, first);
    if (norm(along) === 0) refuse("The two points of the line must differ.");
    return [
      (v) => add(centre, minus(v, centre), Math.min(1, radius / (norm(minus(v, centre)) || 1))),
      (v) => add(first, along, dot(minus(v, first), along) / norm(along) ** 2),
    ];
  };
  // x solves (Q + rho I) x = Q c + rho v, z is the soft threshold of v at tau/rho.
  const lasso = ([, c], { rho, tau }) => {
    const Qc = [Q[0] * c[0] + Q[1] * c[1], Q[1] * c[0] + Q[2] * c[1]];
    return [(v) => ridge(Q, add(Qc, v, rho), rho), (v) => v.map((t) => shrink(t, tau / rho))];
  };

  const solve = ({ points, values }) => {
    const disc = values.program === SETS, [nearestX, nearestZ] = (disc ? sets : lasso)(points, values);
    const { alpha } = values, rho = disc ? 1 : values.rho, x = [], z = [points[0].slice(0, 2)], r = [], s = [];
    for (let k = 0, u = [0, 0]; k < STEPS; k++) {
      x.push(nearestX(minus(z[k], u)));
      const h = add(z[k], minus(x[k], z[k]), alpha);
      z.push(nearestZ(add(h, u)));
      u = add(u, minus(h, z[k + 1]));
      r.push(norm(minus(x[k], z[k + 1])));
      s.push(rho * norm(add(minus(z[k], z[k + 1]), minus(x[k], z[k]), alpha - 1)));
    }
    return { x, z, primal_residual: r, dual_residual: s };
  };

  const view = (result, { points: [, centre, first, second], values, limits: [left, right, bottom, top] }) => {
    const { x, z, primal_residual: r, dual_residual: s } = result, disc = values.program === SETS;
    const round = circle(centre, values.radius), along = minus(second, first);
    const far = (right - left + top - bottom) / norm(along), line = [add(first, along, -far), add(first, along, far)];
    const ellipses = [0.7, 1.4, 2.1].map((size) => ellipse(centre, Q, size));
    const shapes = disc
      ? [["inside", [round]], ["blue", [round]], ["red", [line]]]
      : [["blue", ellipses], ["red", [[[left, 0], [right, 0]], [[0, bottom], [0, top]]]]];
    shapes.push(["thin", [x.flatMap((at, k) => [z[k], at])]], ["blue dots", dots(x)], ["red dots", dots(z.slice(1))]);
    const marks = [0, 1, 2, 3].map((i) => ({ active: true, size: 0.3, hidden: !disc && i > 1 }));
    const log = (list) => list.flatMap((t, k) => (t > 1e-16 ? [[k + 1, Math.log10(t)]] : []));
    const facts = {
      "z at the end": z.at(-1), "‖r‖ at the end": r.at(-1), "‖s‖ at the end": s.at(-1),
      "steps until both are below 1e-6": r.findIndex((t, k) => t < 1e-6 && s[k] < 1e-6) + 1 || `more than ${STEPS}`,
    };
    const words = ["text", [2, 1.2], "log₁₀ of ‖r‖ (dashed) and ‖s‖ (dotted), by steps"];
    const residuals = [["blue", [log(r)]], ["red", [log(s)]], words];
    const label = "Norms of the two residuals, by steps, as powers of ten";
    return { marks, shapes, facts, second: { label, limits: [0, STEPS, -12, 2], shapes: residuals } };
  };

  companionBoards.kinds.steps = {
    label: "Two sets, or the ellipses of a lasso, and the iterates of ADMM between them", equal: true, solve, view,
    names: ["start", "centre", "line, first point", "line, second point"],
    call: ([start, centre, ...line]) => ["step_board", start, centre, line],
  };
})();
