// Usage: red-files.mjs <report.json>
// Prints the test files of a vitest report that have a red test. Exits 1 where there is no report, none is red, or so many
// are that chance is no explanation.
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import process from "node:process";

const most = 5;

const files = redFiles(process.argv[2]);
if (files.length === 0 || files.length > most) process.exitCode = 1;
else console.log(files.join(" "));

function redFiles(path) {
  try {
    const { testResults } = JSON.parse(readFileSync(path, "utf8"));
    return testResults.filter((file) => file.status === "failed").map((file) => relative(".", file.name));
  } catch {
    return [];
  }
}
