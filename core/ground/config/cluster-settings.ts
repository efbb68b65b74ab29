/** Source of a machine's right to use the servers: one of these. */
export type ClusterCredentials =
  /** Path of a credentials file, as `nsc` writes it. */
  | { file: string }
  /** A user's name, and the name of the secret that is the password. */
  | { user: string; password: string }
  /** The name of the secret that is the token. */
  | { token: string };

interface ClusterTls {
  /** Certificates that sign the servers' own; absent: the system's. */
  ca_file?: string;
  /** This machine's certificate and its key, for servers that ask for one. */
  cert_file?: string;
  key_file?: string;
}

/** How this machine works with others: `cluster:` of the host manifest. A change needs a restart to take effect. */
export interface ClusterSettings {
  /** Addresses of NATS servers: `nats://host:port`, or `tls://host:port`. */
  servers: string[];
  /** This machine's name in the cluster; no other machine may have it. */
  name: string;
  /** Beginning of all subjects and streams: clusters with different prefixes share servers unseen. */
  prefix: string;
  /** Facts about this machine by which requests choose one. */
  labels: Record<string, string>;
  /** Folders that are the same on all machines that name them: sessions of a lost machine can go on in them. */
  shared_folders: string[];
  /** Most sessions of this machine at once; absent: as many as `limits.host_sessions` lets all machines have. */
  slots?: number;
  credentials?: ClusterCredentials;
  tls?: ClusterTls;
  /** Servers that keep each machine's events: 1, 3 or 5. */
  replicas: number;
  /** How often a machine says that it is there. Milliseconds. */
  heartbeat_ms: number;
  /** Silence after which the other machines end its sessions. Milliseconds. */
  silent_ms: number;
}

/** Defaults for settings that the host manifest omits. */
export const defaultClusterSettings: Pick<
  ClusterSettings,
  "prefix" | "labels" | "shared_folders" | "replicas" | "heartbeat_ms" | "silent_ms"
> = { prefix: "bulkhead", labels: {}, shared_folders: [], replicas: 1, heartbeat_ms: 1000, silent_ms: 10_000 };
