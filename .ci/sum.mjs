// Usage: sum.mjs <true|false: all steps were green> <report.json>...
// Prints "N passed, N failed" over vitest's JSON reports. Exits 1 for any failure, a red step, or a run without tests.
import { readFileSync } from "node:fs";
import process from "node:process";

const [green, ...paths] = process.argv.slice(2);
let ok = green === "true";
let passed = 0;
let failed = 0;

for (const path of paths) {
  const report = readReport(path);
  // A file that could not be loaded has no tests to fail, so it counts as one.
  const unloaded = report.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0);
  passed += report.numPassedTests;
  failed += report.numFailedTests + unloaded.length;
  if (report.numPassedTests === 0 || !report.success) ok = false;
  // A test may be skipped for one reason alone: the machine lacks a mechanism, and the test says which.
  const excused = report.testResults.flatMap((file) => file.assertionResults.filter((test) => test.meta?.skip_reason));
  for (const { fullName, meta } of excused) console.log(`skipped: ${fullName} (${meta.skip_reason})`);
  const unexcused = report.numPendingTests + report.numTodoTests - excused.length;
  if (unexcused > 0) {
    ok = false;
    console.log(`red: ${path} has ${unexcused} skipped tests without a reason`);
  }
}

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = ok && failed === 0 ? 0 : 1;

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    // The run was killed or never began.
    console.log(`red: no report ${path}: ${error.message}`);
    return {
      testResults: [],
      numPassedTests: 0,
      numFailedTests: 0,
      numPendingTests: 0,
      numTodoTests: 0,
      success: false,
    };
  }
}
