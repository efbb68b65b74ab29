/** One machine of a cluster, as the machine that was asked sees it. */
export interface ClusterMachine {
  name: string;
  /**
   * It is there; it takes no more sessions, and ends when those that run there have ended; it has left; it has not been
   * heard for a moment; or it has not been heard for so long that others end its sessions.
   */
  state: "present" | "leaving" | "left" | "silent" | "lost";
  /** Whether it is the machine that was asked. */
  self: boolean;
  version: string | null;
  runtime: string | null;
  labels: Record<string, string>;
  /** Ids of the agents that it offers. */
  agents: string[];
  /** Agents that it has with other code than the machine that was asked. */
  other_agents: string[];
  /** Sessions that run or wait there, and the most that it takes; null where that is not known. */
  sessions: number | null;
  slots: number | null;
  /** RFC 3339, UTC; null where it was never heard. */
  started_at: string | null;
  /** Milliseconds since it was heard; null where it never was. */
  silent_ms: number | null;
  /** Its clock less that of the machine that was asked, in milliseconds; null where it never was heard. */
  skew_ms: number | null;
}

/** One machine's log on the servers. */
export interface ClusterLog {
  machine: string;
  /** The machine that writes it; null before the first entry. */
  writer: string | null;
  /** Number of its last message. */
  messages: number;
  bytes: number;
  /** Servers that keep it, and the one that leads. */
  replicas: number;
  leader: string | null;
  /** Number of the last event in the copy of the machine that was asked, and events that it lacks. */
  gseq: number;
  behind: number;
  /** Messages of machines that had lost the right to write. */
  refused: number;
}

/** A cluster as one machine sees it. */
export interface ClusterStatus {
  /** The machine that was asked. */
  machine: string;
  prefix: string;
  /** Whether a server is connected. */
  connected: boolean;
  server: string;
  server_version: string;
  /** Milliseconds of a round trip to the server; null without one. */
  round_trip_ms: number | null;
  /** Entries that wait for the servers. */
  waiting_entries: number;
  /** Sessions that wait for a machine. */
  waiting_sessions: number;
  /** Slots for sessions that the machines have taken together, and the most that they may have. */
  slots: number;
  host_sessions: number;
  machines: ClusterMachine[];
  logs: ClusterLog[];
}
