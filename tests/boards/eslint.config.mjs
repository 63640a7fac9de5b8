// npx eslint@9 -c tests/boards/eslint.config.mjs companion/boards/browser
const browser = ["window", "document", "location", "history", "requestAnimationFrame", "IntersectionObserver", "DOMPoint", "Node", "setTimeout", "clearTimeout"];

export default [
  {
    files: ["**/*.js"],
    languageOptions: {
      sourceType: "script",
      globals: Object.fromEntries([...browser, "companionBoards"].map((name) => [name, "readonly"])),
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error", "no-undef": "error", "no-unused-vars": "error", "prefer-const": ["error", { destructuring: "all" }], "no-var": "error",
      "no-shadow-restricted-names": "error", "no-dupe-keys": "error", "no-unreachable": "error", "no-fallthrough": "error", "no-self-assign": "error",
      "no-cond-assign": "error", "no-constant-condition": "error", "no-sparse-arrays": "error", "no-unsafe-finally": "error", "valid-typeof": "error",
      "use-isnan": "error", "no-loss-of-precision": "error", "no-redeclare": "error", "array-callback-return": "error", "no-implicit-globals": "error",
    },
  },
];
