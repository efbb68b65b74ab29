// Usage: sum.mjs <true|false: all steps were green> <folder of reports> <suite>...
// Prints "N passed, N failed" over vitest's JSON reports, and each red test with what it said. `<suite>.again.json` holds
// the files of a suite that were run once more. Exits 1 for any failure, a red step, or a run without tests.
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { errorsBesideTests } from "./errors-beside-tests.mjs";
import { ownName } from "./own-name.mjs";

const [green, folder, ...suites] = process.argv.slice(2);
let ok = green === "true";
let passed = 0;
let failed = 0;
/** Skipped tests, by suite and reason. */
const skipped = new Map();
/** Files that were red at first and green by themselves. */
const unsteady = [];

for (const suite of suites) {
  const first = readReport(`${folder}/${suite}.json`);
  const again = `${folder}/${suite}.again.json`;
  const second = existsSync(again) ? readReport(again) : null;
  const files = first.map((file) => second?.find(({ name }) => name === file.name) ?? file);
  if (second !== null) first.forEach((file) => tellRed(file, suite, "unsteady"));
  files.forEach(({ name, status }, at) => {
    if (status === "passed" && first[at].status === "failed") unsteady.push(`${ownName(name)} (${suite})`);
  });
  for (const { file, text } of errorsBesideTests(`${folder}/${suite}.log`)) {
    tell(second === null ? "red" : "unsteady", suite, file ?? "?", `no test caught: ${text}`);
  }
  for (const file of files) {
    tellRed(file, suite, "red");
    const red = file.assertionResults.filter(({ status }) => status === "failed").length;
    // A file that could not be loaded has no tests to fail, so it counts as one.
    failed += file.status === "failed" ? Math.max(red, 1) : 0;
    passed += file.assertionResults.filter(({ status }) => status === "passed").length;
    for (const test of file.assertionResults.filter(({ status }) => !["passed", "failed"].includes(status))) {
      countSkipped(test, suite);
    }
  }
  if (!files.some((file) => file.assertionResults.some(({ status }) => status === "passed"))) ok = false;
}

for (const [reason, count] of skipped) console.log(`skipped: ${count} in ${reason}`);
if (unsteady.length > 0) console.log(`green only when repeated: ${unsteady.length} (${unsteady.join(", ")})`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = ok && failed === 0 ? 0 : 1;

function tellRed({ name, status, message, assertionResults }, suite, word) {
  if (status !== "failed") return;
  const tests = assertionResults.filter((test) => test.status === "failed");
  const said = tests.map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages.join(" ")}`);
  for (const text of said.length > 0 ? said : [message]) tell(word, suite, ownName(name), text);
}

function tell(word, suite, file, text) {
  console.log(`${word}: ${suite}: ${file}: ${text.replace(/\s+/g, " ").slice(0, 600)}`);
}

/** A test may be skipped for one reason alone: the machine lacks a mechanism, and the test says which. */
function countSkipped({ fullName, meta }, suite) {
  if (meta?.skip_reason) {
    const key = `${suite}: ${meta.skip_reason}`;
    return skipped.set(key, (skipped.get(key) ?? 0) + 1);
  }
  ok = false;
  console.log(`red: skipped without a reason: ${fullName}`);
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8")).testResults;
  } catch (error) {
    // The run was killed or never began.
    ok = false;
    console.log(`red: no report ${path}: ${error.message}`);
    return [];
  }
}
