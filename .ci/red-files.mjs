// Usage: red-files.mjs <report.json> <log>
// Prints the test files of a vitest run that have a red test, or an error that no test caught. Exits 1 where there is no
// report, none is red, or so many are that chance is no explanation.
import { readFileSync } from "node:fs";
import process from "node:process";
import { errorsBesideTests } from "./errors-beside-tests.mjs";
import { ownName } from "./own-name.mjs";

const most = 5;

const [report, log] = process.argv.slice(2);
const besides = errorsBesideTests(log).map(({ file }) => file);
const files = [...new Set([...redFiles(report), ...besides])];
if (files.length === 0 || files.length > most || files.includes(null)) process.exitCode = 1;
else console.log(files.join(" "));

function redFiles(path) {
  try {
    const { testResults } = JSON.parse(readFileSync(path, "utf8"));
    return testResults.filter((file) => file.status === "failed").map((file) => ownName(file.name));
  } catch {
    return [];
  }
}
