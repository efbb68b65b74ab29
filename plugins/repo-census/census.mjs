// Counts a repository's files and lines by language and writes a report into it. Prints its progress as JSON lines.
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { extname, isAbsolute, join, relative, resolve, sep } from "node:path";
import process from "node:process";

const languages = {
  ".c": "C",
  ".h": "C",
  ".cc": "C++",
  ".cpp": "C++",
  ".cs": "C#",
  ".css": "CSS",
  ".go": "Go",
  ".html": "HTML",
  ".java": "Java",
  ".js": "JavaScript",
  ".jsx": "JavaScript",
  ".mjs": "JavaScript",
  ".cjs": "JavaScript",
  ".json": "JSON",
  ".kt": "Kotlin",
  ".md": "Markdown",
  ".php": "PHP",
  ".py": "Python",
  ".rb": "Ruby",
  ".rs": "Rust",
  ".sh": "Shell",
  ".sql": "SQL",
  ".swift": "Swift",
  ".toml": "TOML",
  ".ts": "TypeScript",
  ".tsx": "TypeScript",
  ".txt": "Text",
  ".yaml": "YAML",
  ".yml": "YAML",
};
const skipped = new Set([".git", "node_modules", "dist", "target", "vendor", ".venv", "__pycache__"]);
const maxFileBytes = 8 * 1024 * 1024;

try {
  takeCensus(readArguments(process.argv.slice(2)));
} catch (error) {
  console.error(`The census failed: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}

function takeCensus({ workdir, report }) {
  const started = performance.now();
  emit({ kind: "step", message: "looking for files", percent: 0 });
  const groups = groupByLanguage(workdir, report);
  const names = [...groups.keys()].sort();
  const rows = names.map((language, index) => {
    const row = countLanguage(language, { files: groups.get(language), id: `count-${index + 1}` });
    emit({ kind: "step", message: `counted ${language}`, percent: Math.round(((index + 1) / names.length) * 90) });
    return row;
  });
  rows.sort((a, b) => b.lines - a.lines || a.language.localeCompare(b.language));
  const path = join(workdir, report);
  const action = existsSync(path) ? "modify" : "create";
  writeFileSync(path, reportText(rows));
  emit({ kind: "wrote", path: report, action });
  const total = sum(rows);
  emit({ kind: "step", message: `wrote ${report} in ${Math.round(performance.now() - started)} ms`, percent: 100 });
  emit({
    kind: "done",
    summary: `${total.files} files, ${total.lines} lines, ${rows.length} languages; see ${report}`,
    files: [report],
  });
}

function readArguments(args) {
  const values = { workdir: ".", report: "CENSUS.md" };
  for (let index = 0; index < args.length; index += 2) {
    const name = args[index].replace(/^--/, "");
    if (!(name in values) || args[index + 1] === undefined) throw new Error(`the argument ${args[index]} is not known`);
    values[name] = args[index + 1];
  }
  const workdir = resolve(values.workdir);
  const report = relative(workdir, resolve(workdir, values.report));
  if (report === "" || isAbsolute(report) || report.split(sep)[0] === "..") {
    throw new Error(`the report ${values.report} is not a file inside the repository`);
  }
  return { workdir, report: report.replaceAll(sep, "/") };
}

function groupByLanguage(root, report) {
  const groups = new Map();
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of readdirSync(folder).sort()) {
      const path = join(folder, name);
      const info = lstatSync(path);
      if (info.isDirectory() && !skipped.has(name)) folders.push(path);
      const language = languages[extname(name).toLowerCase()];
      const ours = relative(root, path) === report;
      if (!info.isFile() || language === undefined || info.size > maxFileBytes || ours) continue;
      if (!groups.has(language)) groups.set(language, []);
      groups.get(language).push(path);
    }
  }
  return groups;
}

function countLanguage(language, { files, id }) {
  const started = performance.now();
  emit({ kind: "count", id, input: { language, files: files.length } });
  const row = { language, files: 0, lines: 0, blank: 0, bytes: 0 };
  for (const file of files) {
    let text;
    try {
      text = readFileSync(file, "utf8");
    } catch {
      continue; // It went away meanwhile, or is not ours to read.
    }
    const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
    row.files += 1;
    row.lines += lines.length;
    row.blank += lines.filter((line) => line.trim() === "").length;
    row.bytes += new TextEncoder().encode(text).length;
  }
  emit({
    kind: "counted",
    id,
    output: `${row.lines} lines in ${row.files} ${row.files === 1 ? "file" : "files"}`,
    ms: Math.round(performance.now() - started),
  });
  return row;
}

function reportText(rows) {
  const table = rows.map((row) => `| ${row.language} | ${row.files} | ${row.lines} | ${row.blank} | ${row.bytes} |`);
  const { files, lines, blank, bytes } = sum(rows);
  return [
    "# Census",
    "",
    "| language | files | lines | blank | bytes |",
    "|---|---:|---:|---:|---:|",
    ...table,
    `| **all** | **${files}** | **${lines}** | **${blank}** | **${bytes}** |`,
    "",
  ].join("\n");
}

function sum(rows) {
  const total = { files: 0, lines: 0, blank: 0, bytes: 0 };
  for (const row of rows) for (const key of Object.keys(total)) total[key] += row[key];
  return total;
}

function emit(line) {
  console.log(JSON.stringify(line));
}
