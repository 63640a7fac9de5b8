// Chapter 17 in the browser: the Gram matrix, its centred form's eigenvalues and the first kernel principal component,
// as companion.kernels.KernelPCA finds them.
(() => {
  const { solver: { dot, times, largest }, curves } = companionBoards;
  const { kernelOf, sum, refuse, text } = companionBoards.numbers;

  // Jacobi's rotations of pairs of rows, until those of W = VK are orthogonal: each is an eigenvalue times its
  // eigenvector. They begin with the V of the last time: while a point is dragged, few are needed.
  let V = [];
  const rotate = (x, y, c, s) => {
    for (let i = 0; i < x.length; i++) [x[i], y[i]] = [c * x[i] - s * y[i], s * x[i] + c * y[i]];
  };
  const eigen = (K) => {
    if (V.length !== K.length) V = K.map((row, i) => row.map((_, j) => (i === j ? 1 : 0)));
    const W = V.map((v) => times(K, v)), squares = W.map((w) => dot(w, w)), tiny = 1e-28 * largest(squares);
    const turned = ([p, q]) => {
      const a = squares[p], b = squares[q], c = dot(W[p], W[q]);
      if (Math.abs(c) <= 1e-13 * Math.sqrt(a * b) + tiny) return false;
      const h = (b - a) / (2 * c), t = (h < 0 ? -1 : 1) / (Math.abs(h) + Math.hypot(1, h)), cos = 1 / Math.hypot(1, t);
      for (const M of [W, V]) rotate(M[p], M[q], cos, t * cos);
      for (const i of [p, q]) squares[i] = dot(W[i], W[i]);
      return true;
    };
    const pairs = V.flatMap((_, q) => V.slice(0, q).map((_, p) => [p, q]));
    for (let sweep = 0; sweep < 30; sweep++) if (!pairs.map(turned).includes(true)) break;
    return V.map((vector, i) => ({ value: Math.sqrt(squares[i]), vector })).sort((one, next) => next.value - one.value);
  };

  const solve = ({ points, values, limits }) => {
    const n = points.length, { gram, expansion } = kernelOf(values, points);
    if (n < 2) refuse("There must be two points.");
    const same = points.every(([x, y]) => x === points[0][0] && y === points[0][1]);
    if (same) refuse("all points have the same image: there is no component");
    const means = gram.map((row) => sum(row) / n), mean = sum(means) / n;
    const pairs = eigen(gram.map((row, i) => row.map((t, j) => t - means[i] - means[j] + mean)));
    const top = pairs[0].value, first = [...pairs[0].vector], most = (1 - 1e-6) * largest(first);
    const sign = Math.sign(first.find((t) => Math.abs(t) >= most));
    const component = first.map((t) => sign * t * Math.sqrt(top)), alpha = component.map((t) => t / top);
    return {
      gram: gram.map((row) => [...row]), component, share: top / sum(pairs.map(({ value }) => value)),
      eigenvalues: pairs.slice(0, 6).map(({ value }) => (value > 1e-12 * top ? value : 0)),
      field: curves.field(expansion(alpha, -dot(alpha, means)), limits),
    };
  };

  const view = ({ gram, eigenvalues, share, component, field }, { limits }) => {
    const n = gram.length, most = largest(component), top = Math.max(...gram.map(largest), 1e-300);
    const colour = (t) => (t < 0 ? "red" : "blue");
    const marks = component.map((t) => ({
      size: Math.abs(t) / most, active: true, colour: colour(t), words: `component ${text(t)}`,
    }));
    const shapes = [-0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75].map((t) =>
      [t ? `${colour(t)} thin` : "middle", curves.contours(field, limits, t * most)]);
    const tile = (x, y, wide, high) => [[x, y], [x + wide, y], [x + wide, y + high], [x, y + high]];
    const tiles = {}; // by colour and shade in steps of a tenth
    const put = (t, i, j) => (tiles[Math.round((10 * t) / top)] ??= []).push(tile(j, n - 1 - i, 1, 1));
    gram.forEach((row, i) => row.forEach((t, j) => put(t, i, j)));
    delete tiles[0]; // is not seen
    const wide = n / eigenvalues.length, high = (0.36 * n) / eigenvalues[0];
    const second = [
      ["text", [0, 1.03 * n], "Gram matrix, point by point"],
      ["text", [0, -0.1 * n], "eigenvalues of the centred matrix"],
      ...Object.keys(tiles).map((shade) => [shade < 0 ? "tile minus" : "tile", tiles[shade], Math.abs(shade) / 10]),
      ["tile", eigenvalues.map((t, k) => tile(k * wide, -0.5 * n, 0.8 * wide, high * t))],
    ];
    const label = "The Gram matrix, darker where points are more alike, and the eigenvalues of its centred form below";
    const plane = { label, limits: [-0.3 * n, 1.3 * n, -0.5 * n, 1.1 * n], equal: true, bare: true, shapes: second };
    return { marks, shapes, facts: { eigenvalues, "share of the first": share }, second: plane };
  };

  companionBoards.kinds.gram = {
    label: "Points, and level lines of their first kernel principal component", equal: true, solve, view,
    call: (points) => ["gram_board", points],
  };
})();
