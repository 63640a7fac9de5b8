// The boards' arithmetic, by node's own test runner: node --test tests/boards
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import vm from "node:vm";

const folder = new URL("../../companion/boards/browser/", import.meta.url);
for (const name of ["solver", "numbers", "curves", "point", "tube", "weights", "steps", "gram"]) {
  vm.runInThisContext(readFileSync(new URL(`${name}.js`, folder), "utf8"), { filename: `${name}.js` });
}
const { solver, numbers, curves } = globalThis.companionBoards;

// A generator of numbers between -1 and 1, the same in each run.
const random = (seed) => () => {
  seed = (seed * 1103515245 + 12345) % 2 ** 31;
  return seed / 2 ** 30 - 1;
};

const program = (next, n, rank) => {
  const B = Array.from({ length: n }, () => Array.from({ length: rank }, next));
  const P = B.map((a) => Float64Array.from(B, (b) => solver.dot(a, b)));
  const q = Float64Array.from({ length: n }, next), A = [new Float64Array(n).fill(1)], c = [n / 3];
  return { P, q, A, c, u: Float64Array.from({ length: n }, (_, i) => (i % 3 ? 1 : 2 * n)) };
};

for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
  test(`a quadratic program meets its optimality conditions (${seed})`, () => {
    const n = 3 + seed * 2, given = program(random(seed), n, seed % 2 ? n : 2);
    const { x, y, exact } = solver.solveQP(given), g = solver.times(given.P, x);
    assert.ok(exact);
    assert.ok(Math.abs(solver.dot(given.A[0], x) - n / 3) < 1e-10);
    x.forEach((xi, i) => {
      const slope = g[i] + given.q[i] - y[0];
      assert.ok(xi >= 0 && xi <= given.u[i]);
      if (xi === 0) assert.ok(slope > -1e-9);
      else if (xi === given.u[i]) assert.ok(slope < 1e-9);
      else assert.ok(Math.abs(slope) < 1e-9);
    });
  });
}

test("what begins with the last answer ends where a fresh start does", () => {
  const next = random(9);
  const value = ({ P, q }, { x }) => solver.dot(x, solver.times(P, x)) / 2 + solver.dot(q, x);
  for (let k = 0; k < 200; k++) {
    const given = { ...program(next, 6, 2), c: [1 + (k % 5)], u: new Float64Array(6).fill(1) }; // often all at a bound
    const [again, fresh] = ["same", `fresh ${k}`].map((key) => value(given, solver.solveQP(given, key)));
    assert.ok(Math.abs(again - fresh) < 1e-9 * (1 + Math.abs(fresh)), `${k}: ${again} ${fresh}`);
  }
});

test("numbers read as in Python", () => {
  for (const [x, text] of [[0, "0"], [1234567, "1.23457e+06"], [0.1 + 0.2, "0.3"], [1e-5, "1e-05"], [-2.5, "-2.5"], [123456, "123456"]]) {
    assert.equal(numbers.g(x), text);
  }
  assert.equal(numbers.text(NaN), "undefined");
  assert.equal(numbers.text(Infinity), "∞");
});

test("an interval holds what the conditions leave", () => {
  assert.deepEqual(numbers.interval([1, 2, 5], [-1, -1, 1]), [3, 3]); // rounding: the middle
  assert.deepEqual(numbers.interval([1, 4], [1, -1]), [1, 4]);
  assert.deepEqual(numbers.interval([1, 2, 4], [0, 0, -1]), [1.5, 1.5]);
  assert.equal(numbers.middle([-Infinity, 3]), 3);
});

test("level lines lie on their level", () => {
  const limits = [-2, 2, -1, 3], f = ([x, y]) => x - 2 * y, lines = curves.contours(curves.field(f, limits), limits, 0.5);
  assert.equal(lines.length, 1);
  for (const at of lines[0]) assert.ok(Math.abs(f(at) - 0.5) < 1e-12);
});
