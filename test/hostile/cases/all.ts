import type { AttackCase } from "../../../core/kit/attack/attack-case.ts";
import { crashCases } from "./crash.ts";
import { escapeCases } from "./escape.ts";
import { filesCases } from "./files.ts";
import { hangCases } from "./hang.ts";
import { leakCases } from "./leaks.ts";
import { memoryCases } from "./memory.ts";
import { networkCases } from "./network.ts";
import { protocolCases } from "./protocol.ts";
import { runCases } from "./run.ts";
import { socketCases } from "./sockets.ts";
import { starvationCases } from "./starvation.ts";
import { textCases } from "./text.ts";
import { turnCases } from "./turns.ts";

/** Every attack, in the order of the corpus. To add a group: a file here and a line below. */
export const attackCases: readonly AttackCase[] = [
  ...hangCases,
  ...memoryCases,
  ...crashCases,
  ...protocolCases,
  ...turnCases,
  ...leakCases,
  ...escapeCases,
  ...filesCases,
  ...networkCases,
  ...socketCases,
  ...runCases,
  ...textCases,
  ...starvationCases,
];
