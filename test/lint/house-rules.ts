import { documentedExports } from "./rules/documented-exports.ts";
import { fewParameters } from "./rules/few-parameters.ts";
import { fileNames } from "./rules/file-names.ts";
import { namedExports } from "./rules/named-exports.ts";
import { noConsole } from "./rules/no-console.ts";
import { noEnum } from "./rules/no-enum.ts";
import { plainComments } from "./rules/plain-comments.ts";
import { platformAlone } from "./rules/platform-alone.ts";
import { removalsByProgram } from "./rules/removals-by-program.ts";
import { tsImports } from "./rules/ts-imports.ts";

/** The project's own rules for `deno lint`: one file each in `rules/`, one line each here. */
const houseRules: Deno.lint.Plugin = {
  name: "house",
  rules: {
    "documented-exports": documentedExports,
    "few-parameters": fewParameters,
    "file-names": fileNames,
    "named-exports": namedExports,
    "no-console": noConsole,
    "no-enum": noEnum,
    "plain-comments": plainComments,
    "platform-alone": platformAlone,
    "removals-by-program": removalsByProgram,
    "ts-imports": tsImports,
  },
};

export default houseRules;
