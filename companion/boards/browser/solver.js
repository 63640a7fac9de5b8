// min 1/2 x'Px + q'x  subject to  Ax = c,  0 <= x <= u: an interior point method guesses which bounds hold, one linear
// system finishes. P (n x n) and A (m x n) are arrays of Float64Array rows; P may be singular, u infinite.
(globalThis.companionBoards ??= {}).solver = (() => {
  const dot = (a, b) => { let s = 0; for (let i = 0; i < a.length; i++) s += a[i] * b[i]; return s; };
  const times = (M, x) => Float64Array.from(M, (row) => dot(row, x));
  const largest = (x) => x.reduce((m, t) => Math.max(m, Math.abs(t)), 0);

  // In-place Cholesky factor L of H; a pivot that rounding made nothing becomes infinite: its unknown is left at 0.
  const cholesky = (H) => {
    const n = H.length, top = Math.max(...H.map((row, i) => Math.abs(row[i])), 1e-300);
    for (let j = 0; j < n; j++) {
      const Lj = H[j];
      for (let k = 0; k < j; k++) {
        const Lk = H[k];
        let s = Lj[k];
        for (let t = 0; t < k; t++) s -= Lj[t] * Lk[t];
        Lj[k] = s / Lk[k];
      }
      let d = Lj[j];
      for (let t = 0; t < j; t++) d -= Lj[t] * Lj[t];
      Lj[j] = d > 1e-30 * top ? Math.sqrt(d) : 1e128;
    }
    return H;
  };
  const solveWith = (L, b) => {
    const x = Float64Array.from(b), n = x.length;
    for (let i = 0; i < n; i++) {
      for (let k = 0; k < i; k++) x[i] -= L[i][k] * x[k];
      x[i] /= L[i][i];
    }
    for (let i = n - 1; i >= 0; i--) {
      x[i] /= L[i][i];
      for (let k = 0; k < i; k++) x[k] -= L[i][k] * x[i];
    }
    return x;
  };

  // [H -A'; A 0] (dx, dy) = (r, s), by the factor of H and the matrix A H^-1 A'. H is overwritten.
  const saddle = (H, A) => {
    const L = cholesky(H), V = A.map((row) => solveWith(L, row));
    const S = cholesky(A.map((row) => Float64Array.from(V, (v) => dot(row, v))));
    return (r, s) => {
      const h = solveWith(L, r);
      const dy = solveWith(S, A.map((row, i) => s[i] - dot(row, h)));
      V.forEach((v, i) => { for (let j = 0; j < h.length; j++) h[j] += dy[i] * v[j]; });
      return [h, dy];
    };
  };

  // Mehrotra's predictor and corrector; z and v are the multipliers of 0 <= x and x <= u.
  const guess = (P, q, A, c, u) => {
    const n = q.length, m = A.length, bounded = u.map((t) => t < Infinity);
    const unit = Math.max(largest(q), 1e-3 * Math.max(...P.map((row, i) => row[i]), 0), 1e-12);
    const x = u.map((t) => (t < Infinity ? t / 2 : 1)), y = new Float64Array(m);
    const z = new Float64Array(n).fill(unit), v = u.map((t) => (t < Infinity ? unit : 0));
    const lengths = P.map((row, i) => Math.sqrt(Math.max(row[i], 0)));
    let best = null;
    for (let turn = 0; turn < 40; turn++) {
      const t = u.map((ui, i) => ui - x[i]), Px = times(P, x);
      const rd = Px.map((g, i) => -(g + q[i] - A.reduce((s, row, k) => s + row[i] * y[k], 0) - z[i] + v[i]));
      const rp = A.map((row, k) => c[k] - dot(row, x));
      let mu = 0, pairs = n;
      for (let i = 0; i < n; i++) { mu += x[i] * z[i]; if (bounded[i]) { mu += t[i] * v[i]; pairs++; } }
      const value = Math.abs(dot(x, Px)) + Math.abs(dot(q, x)) + 1e-4 * dot(x, lengths) ** 2; // the optimum may be 0
      const error = largest(rd) / (largest(Px) + largest(q) + 1e-300) + largest(rp) / (largest(c) + largest(x)) + mu / (value + 1e-300);
      if (!Number.isFinite(error)) break;
      if (!best || error < best.error) best = { error, x: x.slice(), y: y.slice(), z: z.slice(), v: v.slice() };
      if (error < 1e-11) break;
      mu /= pairs;
      const H = P.map((row, i) => {
        const h = row.slice();
        h[i] += z[i] / x[i] + (bounded[i] ? v[i] / t[i] : 0);
        return h;
      });
      const solve = saddle(H, A);
      const step = (cx, ct) => {
        const [dx, dy] = solve(rd.map((r, i) => r + cx[i] / x[i] - (bounded[i] ? ct[i] / t[i] : 0)), rp);
        return { dx, dy, dz: dx.map((d, i) => (cx[i] - z[i] * d) / x[i]), dv: dx.map((d, i) => (bounded[i] ? (ct[i] + v[i] * d) / t[i] : 0)) };
      };
      const reach = ({ dx, dz, dv }) => {
        let a = 1, b = 1;
        for (let i = 0; i < n; i++) {
          if (dx[i] < 0) a = Math.min(a, -x[i] / dx[i]);
          if (bounded[i] && dx[i] > 0) a = Math.min(a, t[i] / dx[i]);
          if (dz[i] < 0) b = Math.min(b, -z[i] / dz[i]);
          if (dv[i] < 0) b = Math.min(b, -v[i] / dv[i]);
        }
        return [a, b];
      };
      const first = step(x.map((xi, i) => -xi * z[i]), t.map((ti, i) => (bounded[i] ? -ti * v[i] : 0)));
      const [a1, b1] = reach(first), common1 = Math.min(a1, b1);
      let after = 0;
      for (let i = 0; i < n; i++) {
        after += (x[i] + common1 * first.dx[i]) * (z[i] + common1 * first.dz[i]);
        if (bounded[i]) after += (t[i] - common1 * first.dx[i]) * (v[i] + common1 * first.dv[i]);
      }
      const aim = (after / pairs / mu) ** 3 * mu;
      const next = step(
        x.map((xi, i) => aim - xi * z[i] - first.dx[i] * first.dz[i]),
        t.map((ti, i) => (bounded[i] ? aim - ti * v[i] + first.dx[i] * first.dv[i] : 0)),
      );
      const a = 0.995 * Math.min(...reach(next));
      for (let i = 0; i < n; i++) { x[i] += a * next.dx[i]; z[i] += a * next.dz[i]; v[i] += a * next.dv[i]; }
      for (let k = 0; k < m; k++) y[k] += a * next.dy[k];
    }
    return best;
  };

  // With the set of free variables known the optimum solves P_FF x_F - A_F'y = -q_F - P_FB x_B, A_F x_F = c - A_B x_B.
  const active = ({ x, z, v }, u) => {
    const X = largest(x) || 1, G = largest(z) + largest(v) || 1;
    return Array.from(x, (xi, i) => (u[i] < Infinity && (u[i] - xi) / X < v[i] / G ? 1 : xi / X < z[i] / G ? -1 : 0));
  };
  const finish = (P, q, A, c, u, near, at, turns) => {
    const n = q.length, x0 = near.x, X = largest(x0) || 1;
    for (let turn = 0; turn < turns; turn++) {
      const x = x0.map((xi, i) => (at[i] > 0 ? u[i] : at[i] < 0 ? 0 : xi)), y = near.y.slice();
      const F = [...at.keys()].filter((i) => at[i] === 0);
      const scale = Math.max(...P.map((row, i) => row[i]), 1e-300);
      if (F.length) {
        const H = F.map((i) => Float64Array.from(F, (j) => P[i][j] + (i === j ? 1e-11 * scale : 0)));
        const solve = saddle(H, A.map((row) => Float64Array.from(F, (j) => row[j])));
        for (let pass = 0; pass < 6; pass++) {
          const r = F.map((i) => -dot(P[i], x) - q[i] + A.reduce((s, row, k) => s + row[i] * y[k], 0));
          const [dx, dy] = solve(r, A.map((row, k) => c[k] - dot(row, x)));
          F.forEach((i, k) => (x[i] += dx[k]));
          dy.forEach((d, k) => (y[k] += d));
        }
      }
      const Px = times(P, x), noise = 1e-11 * (largest(Px) + largest(q));
      let moved = false;
      for (let i = 0; i < n; i++) {
        const g = Px[i] + q[i] - A.reduce((s, row, k) => s + row[i] * y[k], 0);
        if (at[i] === 0 && x[i] < -1e-11 * X) [at[i], moved] = [-1, true];
        else if (at[i] === 0 && x[i] > u[i] + 1e-11 * X) [at[i], moved] = [1, true];
        else if (F.length && at[i] * g > noise) [at[i], moved] = [0, true];
      }
      if (!moved && x.every(Number.isFinite) && A.every((row, k) => Math.abs(dot(row, x) - c[k]) <= 1e-9 * (Math.abs(c[k]) + X))) {
        return { x: x.map((xi, i) => Math.min(Math.max(xi, 0), u[i])), y, Px, at, exact: true };
      }
    }
    return { x: x0, y: near.y, Px: times(P, x0), at: null, exact: false };
  };

  // `last` is an earlier answer: while a point is dragged, the same bounds mostly hold.
  const solveQP = (P, q, A, c, u, last = null) => {
    if (last?.at?.length === q.length) {
      const found = finish(P, q, A, c, u, last, last.at.slice(), 3);
      if (found.exact) return found;
    }
    const near = guess(P, q, A, c, u);
    return finish(P, q, A, c, u, near, active(near, u), 12);
  };

  // -- what the boards share besides

  const inner = (x, y) => x[0] * y[0] + x[1] * y[1];
  const KERNELS = {
    linear: () => inner,
    quadratic: () => (x, y) => (inner(x, y) + 1) ** 2,
    Gaussian: (sigma) => (x, y) => Math.exp(-((x[0] - y[0]) ** 2 + (x[1] - y[1]) ** 2) / (2 * sigma * sigma)),
  };
  // Multipliers that differ from a bound by rounding only are at the bound.
  const snap = (x, upper) => {
    const top = largest(x);
    return Array.from(x, (t) => (t <= 1e-12 * top ? 0 : upper < Infinity && upper - t <= 1e-12 * upper ? upper : t));
  };
  // What "g <= level where a = 0, >= where a = K, = between" leaves of a level, and the middle of it.
  const interval = (g, zero, full) => {
    const free = g.filter((_, i) => !zero[i] && !full[i]);
    if (free.length) return Array(2).fill(free.reduce((t, x) => t + x, 0) / free.length);
    const low = Math.max(...g.filter((_, i) => full[i])), high = Math.min(...g.filter((_, i) => zero[i]));
    return low > high ? [(low + high) / 2, (low + high) / 2] : [low, high];
  };
  const middle = ([low, high]) => (Number.isFinite(low + high) ? low + (high - low) / 2 : Number.isFinite(low) ? low : Number.isFinite(high) ? high : 0);
  // As Python's format "g" with so many digits.
  const g = (x, digits = 6) => {
    if (!Number.isFinite(x)) return Number.isNaN(x) ? "undefined" : x > 0 ? "∞" : "-∞";
    if (x === 0) return "0";
    const [mantissa, e] = x.toExponential(digits - 1).split("e");
    if (+e >= -4 && +e < digits) return String(+x.toPrecision(digits));
    return `${+mantissa}e${e[0]}${e.slice(1).padStart(2, "0")}`;
  };
  const text = (x) => (typeof x === "number" ? g(Math.abs(x) < 1e-12 ? 0 : x, 4) : String(x ?? "undefined")); // a kernel sends no NaN

  return { solveQP, guess, dot, times, largest, KERNELS, snap, interval, middle, g, text };
})();
companionBoards.kinds ??= {};
