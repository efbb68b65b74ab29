import type { AttackCase } from "../attack-case.ts";
import { hangCases } from "./hang.ts";

/** Every attack, in the order of the corpus. To add a group: a file here and a line below. */
export const attackCases: readonly AttackCase[] = [
  ...hangCases,
];
