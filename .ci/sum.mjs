// Usage: sum.mjs <true|false: all steps were green> <folder of reports> <suite>...
// Prints "N passed, N failed" over vitest's JSON reports, and each red test with what it said. `<suite>.again.json` holds
// the files of a suite that were run once more. Exits 1 for any failure, a red step, or a run without tests.
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import process from "node:process";
import { errorsBesideTests } from "./errors-beside-tests.mjs";

const [green, folder, ...suites] = process.argv.slice(2);
let ok = green === "true";
let passed = 0;
let failed = 0;

for (const suite of suites) {
  const first = readReport(`${folder}/${suite}.json`);
  const again = `${folder}/${suite}.again.json`;
  const second = existsSync(again) ? readReport(again) : null;
  const files = first.map((file) => second?.find(({ name }) => name === file.name) ?? file);
  if (second !== null) first.forEach((file) => tellRed(file, suite, "unsteady"));
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
      tellSkipped(test);
    }
  }
  if (!files.some((file) => file.assertionResults.some(({ status }) => status === "passed"))) ok = false;
}

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = ok && failed === 0 ? 0 : 1;

function tellRed({ name, status, message, assertionResults }, suite, word) {
  if (status !== "failed") return;
  const tests = assertionResults.filter((test) => test.status === "failed");
  const said = tests.map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages.join(" ")}`);
  for (const text of said.length > 0 ? said : [message]) tell(word, suite, relative(".", name), text);
}

function tell(word, suite, file, text) {
  console.log(`${word}: ${suite}: ${file}: ${text.replace(/\s+/g, " ").slice(0, 600)}`);
}

/** A test may be skipped for one reason alone: the machine lacks a mechanism, and the test says which. */
function tellSkipped({ fullName, meta }) {
  if (meta?.skip_reason) return console.log(`skipped: ${fullName} (${meta.skip_reason})`);
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
