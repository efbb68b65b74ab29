import { readFileSync } from "node:fs";

/** One figure of the kept report. */
interface KeptFigure {
  value: number;
  least?: number;
  most?: number;
}

interface Report {
  /** Day of the measurement. */
  measured: string;
  runtime: string;
  figures: Record<string, KeptFigure>;
}

/** Peers in the order of the table, each with what it is and what it leaves out. */
const peers: readonly [name: string, title: string, lacks: string][] = [
  ["bulkhead", "Bulkhead, HTTP", "nothing"],
  ["bulkhead_no_artifacts", "the same without artifacts", "what changed"],
  ["bulkhead_no_walls", "the same without agent walls", "what changed; walls around the agent"],
  ["bulkhead_run_daemon", "`bulkhead run`, daemon", "nothing"],
  ["bulkhead_run", "`bulkhead run` alone", "nothing"],
  ["sandbox_agent", "sandbox-agent 0.4.2, HTTP", "a journal; what changed; walls"],
  ["acpx", "`acpx exec` 0.19.1", "a journal that others read; what changed; walls"],
  ["bare_client", "bare client", "everything"],
];

interface Column {
  head: string;
  figure: string;
  show(value: number): string;
}

const ms = (value: number): string => value < 10 ? value.toFixed(1) : value.toFixed(0);
const whole = (value: number): string => Math.round(value).toLocaleString("en-US");

const speed: readonly Column[] = [
  { head: "First words, ms", figure: "first_event", show: ms },
  { head: "Short session, ms", figure: "short_session", show: ms },
];

const pieces: readonly Column[] = ["10000", "100000"].flatMap((count) => [
  { head: `Of ${whole(Number(count))}: a second`, figure: `pieces_${count}`, show: whole },
  { head: "Lost", figure: `lost_of_${count}`, show: whole },
  { head: "CPU of 10,000, ms", figure: `cpu_of_10000_in_${count}`, show: ms },
]);

const many: readonly Column[] = [
  { head: "100 at once, ms", figure: "at_once", show: whole },
  { head: "CPU of each, ms", figure: "at_once.cpu_of_a_session", show: ms },
  { head: "Idle, MB", figure: "idle.rss", show: ms },
  { head: "20 live, MB", figure: "live_20.rss", show: ms },
  { head: "20 live, shared pages once", figure: "live_20.pss", show: ms },
  { head: "100 readers, pieces a second", figure: "readers", show: whole },
];

/** The report that the tables are written from: figures of `npm run bench -- peers --json`, its parts joined. */
export function keptReport(): Report {
  return JSON.parse(readFileSync(new URL("report.json", import.meta.url), "utf8")) as Report;
}

/** The kept report as tables: medians, with the smallest and the largest repetition. */
export function peersTables({ measured, figures, runtime }: Report): string {
  return [
    `Measured on ${measured} on ${runtime}, two cores of a virtual machine with little else to do, one stub agent for all. Medians; in brackets the smallest and largest.`,
    tableOf(figures, speed),
    tableOf(figures, pieces),
    tableOf(figures, many),
    ["| | Goes without |", "| --- | --- |", ...peers.map(([, title, lacks]) => `| ${title} | ${lacks} |`)].join("\n"),
  ].join("\n\n");
}

function tableOf(figures: Report["figures"], columns: readonly Column[]): string {
  const rows = peers.map(([name, title]) => [
    title,
    ...columns.map(({ figure, show }) => cellOf(figures[`peers.${figure}.${name}`], show)),
  ]).filter(([, ...cells]) => cells.some((cell) => cell !== "–"));
  const head = ["", ...columns.map(({ head }) => head)];
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

function cellOf(figure: KeptFigure | undefined, show: (value: number) => string): string {
  if (figure === undefined) return "–";
  const { value, least, most } = figure;
  if (least === undefined || most === undefined || show(least) === show(most)) return show(value);
  return `${show(value)} (${show(least)}–${show(most)})`;
}
