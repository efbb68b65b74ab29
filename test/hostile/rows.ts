/** A row of the corpus that has neither case nor test, and why. */
export interface RowWithReason {
  /** Row of the corpus, such as `G29`. */
  id: string;
  /** Why Linux, or this system, cannot show it. A sentence. */
  reason: string;
}

// One section a group, so that several hands can add to it.

const hang: RowWithReason[] = [];

const memory: RowWithReason[] = [];

const crash: RowWithReason[] = [
  {
    id: "C14",
    reason: "An exploit of the engine's own memory needs a hole in V8 that is not known; what would contain it, the " +
      "process without permissions and the walls of the operating system, has tests of its own.",
  },
];

const protocol: RowWithReason[] = [];

const leak: RowWithReason[] = [];

const escape: RowWithReason[] = [
  {
    id: "F28",
    reason: "Names of time zone and language are what any date and any sorted list show; a permission for them would " +
      "deny nothing that adapter code needs another way to learn, so there is none to test.",
  },
];

const robbery: RowWithReason[] = [
  {
    id: "G21",
    reason:
      "Whether a granted host hands data on to others is not to be seen from this side of the connection; only the " +
      "operator's choice of hosts bounds it.",
  },
  { id: "G29", reason: "Batch files are run by a command shell on Windows alone, and this machine runs Linux." },
];

const starvation: RowWithReason[] = [
  { id: "H12", reason: "Slow readers of a server's event stream need a server, and this host has no HTTP door yet." },
];

/** Every row of the corpus, groups A to H, that neither a case nor a test shows. */
export const rowsWithReason: readonly RowWithReason[] = [
  ...hang,
  ...memory,
  ...crash,
  ...protocol,
  ...leak,
  ...escape,
  ...robbery,
  ...starvation,
];
