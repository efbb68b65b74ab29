// Checks data against a stranger's JSON Schema, in a thread of its own. Bundled to `dist/walls/schema.js`.
import { type SchemaDraft, Validator } from "@cfworker/json-schema";
import { answerTask } from "../platform/engine/thread-task.ts";
import type { SchemaQuestion } from "./fits-schema.ts";

const drafts: Readonly<Record<string, SchemaDraft>> = { "draft-04": "4", "draft-07": "7", "2019-09": "2019-09" };

answerTask((question) => {
  // The host asks, and nothing else can.
  const { schema, data } = question as SchemaQuestion;
  const said = String((schema as Record<string, unknown>)["$schema"] ?? "");
  const draft = Object.keys(drafts).find((name) => said.includes(name)) ?? "";
  const { valid, errors } = new Validator(schema as object, drafts[draft] ?? "2020-12").validate(data);
  const innermost = errors.at(-1);
  if (valid || innermost === undefined) return null;
  return `${innermost.instanceLocation.slice(0, 256)}: ${innermost.error.slice(0, 1024)}`;
});
