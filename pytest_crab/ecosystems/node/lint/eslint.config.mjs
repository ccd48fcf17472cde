// The rules of the reviewer `linter`; packages are found beside the ESLint that runs.
import { createRequire } from "node:module";

const require = createRequire(process.argv[1]);
const js = require("@eslint/js");
const ts = require("typescript-eslint");

const typed = ["**/*.{ts,tsx,mts,cts}"];

export default [
  { ...js.configs.recommended, files: ["**/*.{js,jsx,mjs,cjs,ts,tsx,mts,cts}"] },
  ...ts.configs.recommended.map((one) => ({ ...one, files: one.files ?? typed })),
  {
    files: ["**/*.{js,jsx,mjs,cjs}"],
    languageOptions: { parserOptions: { ecmaFeatures: { jsx: true } } },
    // Which names are there without a declaration, only the project's own settings say.
    rules: { "no-undef": "off" },
  },
];
