// min 1/2 x'Px + q'x  subject to  Ax = c,  0 <= x <= u: an interior point method guesses which bounds hold, and a
// linear system finishes. P and A are arrays of Float64Array rows; P may be singular, u is finite.
(globalThis.companionBoards ??= { kinds: {} }).solver = (() => {
  const dot = (a, b, count = a.length) => {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
  };
  const times = (M, x) => Float64Array.from(M, (row) => dot(row, x));
  const largest = (x) => x.reduce((most, t) => Math.max(most, Math.abs(t)), 0);

  // Solves H dx - A'dy = r, A dx = s by LDL'. H is overwritten. The pivots of H are positive, those of A negative; one
  // that rounding made nothing becomes infinite: its unknown is left at 0.
  const saddle = (H, A) => {
    const n = H.length, D = [], L = [...H, ...A.map((row) => Float64Array.of(...row, ...A.map(() => 0)))];
    L.forEach((row, i) => {
      for (let k = 0; k < i; k++) row[k] -= dot(row, L[k], k);
      const whole = row.slice(0, i), sign = i < n ? 1 : -1;
      whole.forEach((t, k) => (row[k] = t / D[k]));
      D[i] = row[i] - dot(whole, row);
      if (!(sign * D[i] > 0)) D[i] = sign * 1e256;
    });
    return (r, s) => {
      const x = Float64Array.of(...r, ...s);
      x.forEach((_, i) => (x[i] -= dot(L[i], x, i)));
      x.forEach((_, i) => (x[i] /= D[i]));
      for (let i = x.length - 1; i > 0; i--) for (let k = 0; k < i; k++) x[k] -= L[i][k] * x[i];
      return [x.subarray(0, n), x.subarray(n).map((t) => -t)];
    };
  };

  const gradient = ({ P, q, A }, x, y) =>
    times(P, x).map((t, i) => t + q[i] - A.reduce((sum, row, k) => sum + y[k] * row[i], 0));
  const missing = ({ A, c }, x) => A.map((row, k) => c[k] - dot(row, x));

  // Mehrotra's predictor and corrector. The 2n sides x >= 0 and u - x >= 0 have lengths t and multipliers w.
  const guess = (given) => {
    const { P, q, A, c, u } = given, n = q.length, x = u.map((t) => t / 2), y = new Float64Array(A.length);
    const diagonal = P.map((row, i) => Math.max(row[i], 0)), lengths = diagonal.map(Math.sqrt);
    const w = new Float64Array(2 * n).fill(Math.max(largest(q), 1e-3 * largest(diagonal), 1e-12));
    let best = { error: Infinity };
    for (let turn = 0; turn < 40; turn++) {
      const t = w.map((_, i) => (i < n ? x[i] : u[i - n] - x[i - n])), Px = times(P, x), mu = dot(t, w) / (2 * n);
      const rd = gradient(given, x, y).map((g, i) => w[i] - w[n + i] - g), rp = missing(given, x);
      const value = Math.abs(dot(x, Px)) + Math.abs(dot(q, x)) + 1e-4 * dot(x, lengths) ** 2; // the optimum may be 0
      const error = largest(rd) / (largest(Px) + largest(q) + 1e-300) + largest(rp) / (largest(c) + largest(x))
        + (2 * n * mu) / (value + 1e-300);
      if (error < best.error) best = { error, x: x.slice(), y: y.slice(), t, w: w.slice() };
      if (!(error > 1e-11)) break;
      const solve = saddle(P.map((row, i) => row.with(i, row[i] + w[i] / t[i] + w[n + i] / t[n + i])), A);
      const step = (r) => { // t dw + w dt = r
        const [dx, dy] = solve(rd.map((g, i) => g + r[i] / t[i] - r[n + i] / t[n + i]), rp);
        const dt = w.map((_, i) => (i < n ? dx[i] : -dx[i - n]));
        return { dx, dy, dt, dw: w.map((wi, i) => (r[i] - wi * dt[i]) / t[i]) };
      };
      const reach = (v, dv) => v.reduce((most, vi, i) => (dv[i] < 0 ? Math.min(most, -vi / dv[i]) : most), 1);
      const along = ({ dt, dw }) => Math.min(reach(t, dt), reach(w, dw));
      const first = step(t.map((ti, i) => -ti * w[i])), far = along(first);
      const after = t.reduce((sum, ti, i) => sum + (ti + far * first.dt[i]) * (w[i] + far * first.dw[i]), 0) / (2 * n);
      const aim = (after / mu) ** 3 * mu;
      const next = step(t.map((ti, i) => aim - ti * w[i] - first.dt[i] * first.dw[i])), a = 0.995 * along(next);
      for (const [v, dv] of [[x, next.dx], [y, next.dy], [w, next.dw]]) dv.forEach((d, i) => (v[i] += a * d));
    }
    return best;
  };

  // Where each variable is: at 0 (-1), at u (1) or free (0).
  const active = ({ x, t, w }, u) => {
    const n = x.length, X = Math.max(largest(x), 1e-3 * largest(u)), W = largest(w) || 1;
    const on = (i) => t[i] / X < w[i] / W;
    return Array.from(x, (_, i) => (on(n + i) ? 1 : on(i) ? -1 : 0));
  };
  // With that known the optimum solves P_FF x_F - A_F'y = -q_F - P_FB x_B, A_F x_F = c - A_B x_B.
  const finish = (given, near, at, turns) => {
    const { P, q, A, c, u } = given, X = largest(near.x) || 1;
    const ridge = 1e-11 * Math.max(...P.map((row, i) => row[i]), 1e-300);
    for (let turn = 0; turn < turns; turn++) {
      const x = near.x.map((t, i) => [0, t, u[i]][at[i] + 1]), y = near.y.slice();
      const free = [...at.keys()].filter((i) => at[i] === 0), of = (row) => Float64Array.from(free, (i) => row[i]);
      const solve = saddle(free.map((i, k) => of(P[i]).with(k, P[i][i] + ridge)), A.map(of));
      for (let pass = 0; pass < 6; pass++) {
        const [dx, dy] = solve(of(gradient(given, x, y)).map((t) => -t), missing(given, x));
        free.forEach((i, k) => (x[i] += dx[k]));
        dy.forEach((d, k) => (y[k] += d));
      }
      const noise = 1e-11 * (largest(times(P, x)) + largest(q)), g = gradient(given, x, y);
      const next = at.map((side, i) => {
        if (side) return free.length && side * g[i] > noise ? 0 : side;
        return x[i] < -1e-11 * X ? -1 : x[i] > u[i] + 1e-11 * X ? 1 : 0;
      });
      const met = missing(given, x).every((r, k) => Math.abs(r) <= 1e-9 * (Math.abs(c[k]) + X)); // false for NaN
      if (met && next.every((side, i) => side === at[i])) {
        return { x: x.map((t, i) => Math.min(Math.max(t, 0), u[i])), y, at, exact: free.length > 0 };
      }
      at = next;
    }
    return { x: near.x, y: near.y, at: null, exact: false };
  };

  // While a point is dragged, the same bounds mostly hold as in the last answer for this key.
  const last = {};
  const solveQP = (given, key = "") => {
    const near = last[key], again = near?.at?.length === given.q.length && finish(given, near, near.at, 3);
    if (again.exact) return (last[key] = again);
    const found = guess(given);
    return (last[key] = finish(given, found, active(found, given.u), 12));
  };

  return { solveQP, guess, dot, times, largest };
})();
