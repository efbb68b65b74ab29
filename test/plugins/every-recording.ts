import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { AdapterEvent } from "../../plugin-sdk/events.ts";
import { fieldsOrNone } from "../../plugin-sdk/json-fields.ts";
import { cliTool } from "../../plugin-sdk/cli-tool.ts";
import { runAdapter } from "../../plugin-sdk/testing.ts";
import { judgeEvents, type ReadRecording, readRecording, recordedText } from "./recorded-lines.ts";

import { manifestOnPage } from "./yaml-page.ts";

const root = new URL("../../", import.meta.url);

/** Recordings of one program, and how they are read. */
export interface RecordingFolder {
  /** Path from the checkout's top. */
  folder: string;
  /** The plugin that reads them. */
  plugin: string;
  /** Names of the files of a session that lies in several, in their order; any other file is a recording by itself. */
  inParts?: readonly (readonly string[])[];
  /** What a recording became: one for each session in it. */
  read(...files: URL[]): Promise<ReadRecording[]>;
}

interface LineReader {
  read(line: string): AdapterEvent[];
  /** What the end of the program adds. */
  end?(): AdapterEvent[];
}

/** Reads lines by a parser of a plugin, which is there only if its folder is. */
function byLines(plugin: string, { module, name }: { module: string; name: string }): Omit<RecordingFolder, "folder"> {
  return {
    plugin,
    async read(...files) {
      const parser: LineReader = new (await import(new URL(`plugins/${plugin}/${module}`, root).href))[name]();
      return [await readRecording(files, (line) => parser.read(line), () => parser.end?.() ?? [])];
    },
  };
}

const openCode = byLines("opencode", { module: "run-stream.ts", name: "RunStream" });
const gemini = byLines("gemini-cli", { module: "headless-stream.ts", name: "HeadlessStream" });

/** Lines of both directions: those of the program have a type. */
async function readControlled(...files: URL[]): Promise<ReadRecording[]> {
  const { StreamParser } = await import("../../plugins/claude-code/stream-parser.ts");
  const parser = new StreamParser();
  return [
    await readRecording(files, (line) => "type" in fieldsOrNone(JSON.parse(line)) ? parser.parse(line) : []),
  ];
}

/** Messages of a server to the adapter, in one file or several: one session. */
async function readServer(...files: URL[]): Promise<ReadRecording[]> {
  const { recorded, runServer } = await import("./codex-server.ts");
  // Those of a turn that was stopped go on once it is.
  const isStopped = files.some(({ pathname }) => pathname.includes("/stopped-"));
  const stopTurnWhen = ({ type }: AdapterEvent) => type === "tool_call";
  const options = isStopped ? { turns: [{}], stopTurnWhen } : {};
  return [judgeEvents((await runServer(recorded(await recordedText(...files)), { options })).events)];
}

/** Lines of a program, read by the adapter in YAML that the docs show for it. */
function byPage(binary: string): RecordingFolder["read"] {
  return async (...files) => {
    const text = await recordedText(...files);
    const lines = text.split("\n").filter((line) => line !== "" && !/^\{"(in|exit|stderr)":/.test(line));
    const run = await runAdapter(cliTool(manifestOnPage(binary)), { prompt: "go" }, {
      processes: [{ binary, stdout: lines.map((line) => `${line}\n`) }],
    });
    return [judgeEvents(run.events)];
  };
}

/** Messages of both directions. */
async function readMessages(...files: URL[]): Promise<ReadRecording[]> {
  const { playRecording } = await import("./recorded-messages.ts");
  return (await Promise.all(files.map(playRecording))).flat();
}

/** Messages of the agent alone. */
async function readAnswers(...files: URL[]): Promise<ReadRecording[]> {
  const { playAnswers } = await import("./recorded-messages.ts");
  return [await playAnswers(files)];
}

async function readSteps(...files: URL[]): Promise<ReadRecording[]> {
  const { parseRecording } = await import("../../plugins/replay/recording.ts");
  const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
  const steps = texts.flatMap((text, at) => parseRecording(text, files[at]!.pathname));
  return [judgeEvents(steps.flatMap((step) => (step.kind === "event" ? [step.event] : [])))];
}

/** Every folder of recordings that the project has. */
export const recordingFolders: readonly RecordingFolder[] = [
  {
    folder: "plugins/acp/recordings",
    plugin: "acp",
    inParts: [
      ["greeting", "opened", "asks", "done"],
      ["greeting", "opened", "files-read", "files-ask", "files-again", "files-write", "files-done"],
    ],
    read: readAnswers,
  },
  {
    folder: "plugins/claude-code/recordings",
    plugin: "claude-code",
    inParts: [["asks", "done"]],
    read: readControlled,
  },
  { folder: "plugins/codex/recordings", plugin: "codex", inParts: [["greeting", "opened", "tool"]], read: readServer },
  { folder: "plugins/gemini-cli/recordings", ...gemini },
  { folder: "plugins/opencode/recordings", ...openCode },
  { folder: "plugins/replay/recordings", plugin: "replay", read: readSteps },
  { folder: "test/fixtures/acp/claude", plugin: "acp", read: readMessages },
  { folder: "test/fixtures/acp/gemini", plugin: "acp", read: readMessages },
  { folder: "test/fixtures/claude-code/recordings", plugin: "claude-code", read: readControlled },
  { folder: "test/fixtures/codex", plugin: "codex", read: readServer },
  { folder: "test/fixtures/codex-yaml", plugin: "codex", read: byPage("codex") },
  { folder: "test/fixtures/gemini-cli", ...gemini },
  { folder: "test/fixtures/opencode", ...openCode },
];

/** Whether a plugin is in the checkout. */
export function hasPlugin(plugin: string): boolean {
  return existsSync(new URL(`plugins/${plugin}/plugin.yaml`, root));
}

/** Paths from the top of all recordings in the checkout, sorted. */
export function everyRecording(): string[] {
  return ["plugins", "test/fixtures"].flatMap((top) =>
    readdirSync(new URL(top, root), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".jsonl") && !path.includes("node_modules"))
      .map((path) => `${top}/${path}`)
  ).sort();
}

/** Where a path from the top is. */
export function placeOf(path: string): URL {
  return new URL(path, root);
}
