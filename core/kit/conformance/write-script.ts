import type { ParsedYaml } from "../../ground/config/yaml.ts";
import type { RecordedAnswers } from "./recorded-answers.ts";
import {
  type ConformanceScript,
  parseScript,
  type ProgramAnswer,
  type ReadScript,
  type ScriptedSession,
} from "./script.ts";

type Answer = Pick<ProgramAnswer, "args" | "session" | "probe">;

/**
 * Returns the text of a `conformance.yaml` with a recorded session in it, which replaces one of that name. All else stays, with
 * its comments, but for a program of another name that the only session does not use and the manifest does not ask for.
 * @throws {BulkheadError} `invalid_manifest` where that would be no script
 */
export function withRecording(
  { script, parsed }: ReadScript,
  session: ScriptedSession,
  { programs, servers, asked }: Pick<RecordedAnswers, "programs" | "servers"> & { asked: readonly string[] },
): string {
  const { document } = parsed;
  const others = document.has("sessions") ? script.sessions.filter(({ name }) => name !== session.name) : [];
  putItem(document, "sessions", {
    at: document.has("sessions") ? script.sessions.findIndex(({ name }) => name === session.name) : -1,
    value: session,
  });
  const isOnly = others.length === 0;
  // From the end, so that the places of the others stay.
  for (const [at, { binary }] of isOnly ? [...script.programs.entries()].reverse() : []) {
    if (asked.includes(binary)) continue;
    document.deleteIn(["programs", at]);
    script.programs.splice(at, 1);
  }
  for (const { binary, answers } of programs) {
    const at = script.programs.findIndex((one) => one.binary === binary);
    const held = script.programs[at]?.answers ?? [];
    putItem(document, "programs", { at, value: { binary, answers: merged(held, answers, { session, isOnly }) } });
  }
  for (const { host, answers } of servers) {
    const at = script.servers.findIndex((one) => one.host === host);
    const held = script.servers[at]?.answers ?? [];
    putItem(document, "servers", { at, value: { host, answers: merged(held, answers, { session, isOnly }) } });
  }
  const text = document.toString({ lineWidth: 0 });
  parseScript(text);
  return text;
}

/** Replaces an item of a list, or adds one; makes the list where there is none. */
function putItem(
  document: ParsedYaml["document"],
  key: keyof ConformanceScript,
  { at, value }: { at: number; value: unknown },
): void {
  const node = document.createNode(value);
  if (!document.has(key)) document.set(key, document.createNode([value]));
  else if (at < 0) document.addIn([key], node);
  else document.setIn([key, at], node);
}

/** Questions come first, since the answer of a session takes any arguments; then the session's own answers. */
function merged<A extends Answer>(
  held: readonly A[],
  recorded: readonly A[],
  { session, isOnly }: { session: ScriptedSession; isOnly: boolean },
): A[] {
  const isQuestion = ({ probe = false }: Answer) => probe;
  const fresh = recorded.map((one) => (isOnly ? withoutSession(one) : one));
  const isAsked = (one: A) => isQuestion(one) && !fresh.some((other) => isQuestion(other) && sameQuestion(one, other));
  const kept = held.filter((one) => isQuestion(one) ? isAsked(one) : one.session !== session.name && !isOnly);
  return [
    ...[...kept, ...fresh].filter(isQuestion),
    ...[...fresh, ...kept].filter((one) => !isQuestion(one)),
  ];
}

function withoutSession<A extends Answer>({ session: _session, ...rest }: A): A {
  return rest as A;
}

/** Whether two answers are to the same question: of a program by its arguments, of a server by its path. */
function sameQuestion(one: object, other: object): boolean {
  return ["args", "method", "path"].every((key) => Reflect.get(one, key) === Reflect.get(other, key));
}
