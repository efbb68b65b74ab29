import { readFile } from "node:fs/promises";
import type { Availability } from "../../../plugin-sdk/availability.ts";
import type { UsageBasis } from "../../../plugin-sdk/result.ts";
import type { CaseName, Story } from "./cases.ts";

/** Where the report of the last run is kept. */
export const reportFile = new URL("../report.json", import.meta.url);

/** What the runs came to, by agent. */
export type Report = Record<string, AgentRuns>;

/** What one agent's runs came to; nothing in it changes from run to run. */
export interface AgentRuns {
  detected: { availability: Availability; version: string | null };
  /** What is found where nobody is logged in. */
  logged_out: Availability;
  cases: Partial<Record<CaseName, CaseRun>>;
}

/** What one case came to. */
export interface CaseRun extends Story {
  /** Pieces in which the answer came: one, or many. */
  pieces: "none" | "one" | "many";
  artifacts: string[];
  tokens: boolean;
  /** Whose figure the cost is; null when there is none. */
  cost: UsageBasis | null;
  /** Whether it is known when a limit ends. */
  wait: boolean;
}

/** Reads the kept report. */
export async function readReport(): Promise<Report> {
  return JSON.parse(await readFile(reportFile, "utf8"));
}
