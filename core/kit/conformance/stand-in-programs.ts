import { type ArgumentPattern, parseArgumentPattern } from "../../../plugin-sdk/argument-pattern.ts";
import type { BinaryPins } from "../../walls/broker/binary-pins.ts";
import { mkdir, readFile, realpath, stat, writeFile } from "../../ground/platform/files/files.ts";
import { dirname, join } from "../../ground/platform/files/paths.ts";
import type { ProgramAnswer, ScriptedProgram } from "./script.ts";
import { floodLine, garbage, longLine, rateLimitText } from "./misbehaviour.ts";
import type { ToolMode } from "./seen.ts";

/** Programs that stand in for those of a plugin. */
export interface StandInPrograms {
  /** Pins each, so that a plugin of this host starts it and no installed program. */
  pin(pins: BinaryPins): Promise<void>;
  /** Sets what they do from now on. */
  set(mode: ToolMode, session: string): Promise<void>;
}

/** Folders of {@link writeStandIns}. */
interface StandInPlace {
  /** Folder of the programs. No session may write there. */
  home: string;
  /** The plugin's folder, for the files of its script. */
  folder: string;
  workdir: string;
}

/** Writes a shell script for each program, which prints the scripted text, or misbehaves as told. */
export async function writeStandIns(
  programs: readonly ScriptedProgram[],
  place: StandInPlace,
): Promise<StandInPrograms> {
  await mkdir(place.home, { recursive: true });
  await writeFile(join(place.home, "garbage"), garbage);
  await writeFile(join(place.home, "flood"), `${floodLine}\n`.repeat(256));
  await writeFile(join(place.home, "long"), `${longLine}\n`);
  const written = new Map<string, string>();
  for (const [index, program] of programs.entries()) {
    const file = join(place.home, `program-${index}`);
    await writeFile(file, await programText(program, { ...place, index }), { mode: 0o755 });
    written.set(program.binary, await realpath(file));
  }
  return {
    async pin(pins) {
      for (const [binary, path] of written) {
        const { uid } = await stat(path);
        await pins.write({ binary, path, real: path, owner: uid, pinned_at: new Date(0).toISOString() });
      }
    },
    set: (mode, session) => writeFile(join(place.home, "mode"), `${mode} ${session}`),
  };
}

async function programText(
  { binary, answers }: ScriptedProgram,
  place: StandInPlace & { index: number },
): Promise<string> {
  const cases: string[] = [];
  for (const [index, answer] of answers.entries()) {
    const pattern = `${answer.session === undefined ? "*" : quote(answer.session)}:${glob(answer.args)}`;
    const name = `${place.index}-${index}`;
    cases.push(`  ${pattern})\n${await answerText(answer, { ...place, name })}\n  ;;`);
  }
  return `#!/bin/sh
# Stands in for ${binary.replace(/[^\w./@-]/g, "?")}.
PATH=/usr/bin:/bin
home=${quote(place.home)}
read -r mode session < "$home/mode"
case "$session:$*" in
${cases.join("\n")}
  *) echo "conformance.yaml has no answer for these arguments: $*" >&2; exit 127 ;;
esac
`;
}

async function answerText(answer: ProgramAnswer, place: StandInPlace & { name: string }): Promise<string> {
  const { probe = false, stdin, dialog = [], stderr, exit_code = 0, files = {} } = answer;
  const output = (await outputOf(answer, place)).replaceAll("{{workdir}}", place.workdir);
  const out = join(place.home, `${place.name}.out`);
  await writeFile(out, output);
  for (const [index, step] of dialog.entries()) {
    await writeFile(`${out}-${index}`, (await outputOf(step, place)).replaceAll("{{workdir}}", place.workdir));
  }
  const half = new TextEncoder().encode(output).length - Math.ceil((output.length - lastLineStart(output)) / 2);
  const lines = [
    ...(stdin === "read" ? ["cat > /dev/null"] : []),
    ...(probe ? [] : misbehaviours({ out, half: Math.max(0, half), exit: exit_code })),
    ...dialog.flatMap(({ reads = 1 }, index) => [
      ...Array.from({ length: reads }, () => "read -r _line || exit 0"),
      `cat ${quote(`${out}-${index}`)}`,
    ]),
    ...Object.entries(files).flatMap(([path, text]) => [
      `mkdir -p ${quote(dirname(path))} && printf '%s' ${quote(text)} > ${quote(path)}`,
    ]),
    `cat ${quote(out)}`,
    ...(stderr === undefined ? [] : [`printf '%s' ${quote(stderr)} >&2`]),
    `exit ${exit_code}`,
  ];
  return lines.map((line) => `    ${line}`).join("\n");
}

function misbehaviours({ out, half, exit }: { out: string; half: number; exit: number }): string[] {
  return [
    `case "$mode" in`,
    `  exits) echo "it failed" >&2; exit 3 ;;`,
    `  garbage) cat "$home/garbage"; exit ${exit} ;;`,
    `  half) head -c ${half} ${quote(out)}; exit ${exit} ;;`,
    `  hangs) head -c ${half} ${quote(out)}; exec sleep 600 ;;`,
    `  floods) for _n in 1 2 3 4; do cat "$home/flood"; done; exit ${exit} ;;`,
    `  dies) head -c ${half} ${quote(out)}; kill -KILL $$ ;;`,
    `  long_line) cat "$home/long"; exit ${exit} ;;`,
    `  rate_limit) printf '%s\\n' ${quote(rateLimitText)} >&2; exit 1 ;;`,
    `esac`,
  ];
}

async function outputOf(
  { stdout, stdout_file }: Pick<ProgramAnswer, "stdout" | "stdout_file">,
  { folder }: StandInPlace,
): Promise<string> {
  return stdout_file === undefined ? stdout ?? "" : await readFile(join(folder, stdout_file), "utf8");
}

function lastLineStart(text: string): number {
  return text.replace(/\n+$/, "").lastIndexOf("\n") + 1;
}

/** Arguments joined by blanks, as a pattern of the shell. */
function glob(args: string | undefined): string {
  if (args === undefined) return "*";
  return parseArgumentPattern(args).reduce((text, argument) => {
    if (argument.some((piece) => "slot" in piece && piece.slot === "rest")) return `${text}*`;
    return `${text}${text === "" ? "" : "' '"}${argumentGlob(argument)}`;
  }, "") || "''";
}

function argumentGlob(argument: ArgumentPattern[number]): string {
  return argument.map((piece) => ("literal" in piece ? quote(piece.literal) : "*")).join("") || "''";
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
