import type { AttackCase } from "../attack-case.ts";

/** Corpus group A: code that never comes back. */
export const hangCases: readonly AttackCase[] = [
  {
    id: "A1",
    name: "load-loop",
    attack: "An endless loop at the top of the module.",
    top: "for (;;);",
    expected: { kind: "refused", codes: ["load_failed"] },
    withinMs: 8000,
  },
  {
    id: "A2",
    name: "session-loop",
    attack: "An endless loop in the session.",
    body: "for (;;);",
    expected: { kind: "killed", codes: ["unresponsive"] },
    withinMs: 5000,
  },
];
