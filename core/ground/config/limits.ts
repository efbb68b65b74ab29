/** Every limit of the host in one place. Each can be set for one plugin in the host manifest. */
export interface Limits {
  /** Bytes of one frame on a channel. */
  frame_bytes: number;
  /** Bytes of one message sent as several frames: a huge event or file. */
  message_bytes: number;
  /** Bytes of one event; longer text that an agent printed is split, and long texts of other events are cut. */
  event_bytes: number;
  /** JSON values in one event or call, nested ones included. */
  event_values: number;
  /** Milliseconds of the host's own time per second for a plugin's messages; further messages wait at their source. */
  host_ms_per_second: number;
  /** JSON nesting of a message. */
  message_depth: number;
  /** Bytes of a prompt. */
  prompt_bytes: number;
  /** Bytes of one context file of a request. */
  context_file_bytes: number;
  /** Bytes of all context files of a request. */
  context_bytes: number;
  /** Bytes of a manifest or host manifest. */
  manifest_bytes: number;
  /** YAML aliases in one file. */
  yaml_aliases: number;
  /** Bytes of one bundled plugin script. */
  script_bytes: number;
  /** Bytes of one source file of a plugin. */
  source_file_bytes: number;
  /** Bytes of all source files of a plugin. */
  source_bytes: number;
  /** Nesting of brackets in one source file. */
  source_depth: number;
  /** Making one plugin's script. */
  bundle_timeout_ms: number;
  /** Megabytes of memory for each of the two processes that make a script. */
  bundle_mb: number;
  /**
   * Events an adapter may be ahead of the journal; an event of 32 KiB or more costs one extra credit for each 4 KiB.
   */
  event_credit: number;
  /** Events of one session. */
  events: number;
  /**
   * Bytes of all events of one session, at most half of `journal.max_bytes`; the host ends a session that exceeds it.
   */
  event_bytes_total: number;
  /** Events of one session in a second; further events wait at their source for credit. */
  events_per_second: number;
  /** Messages of one worker in a second before it is killed. */
  messages_per_second: number;
  /** Unanswered questions and permission requests of one session; a further one becomes `unparsed`. */
  open_requests: number;
  /** Bytes of all unanswered requests together. */
  open_request_bytes: number;
  /** Broker calls under way in one session. */
  calls_in_flight: number;
  /** Illegal messages before the plugin's worker is killed. */
  protocol_errors: number;
  /** Live timers of one session. */
  timers: number;
  /** Megabytes of V8 heap for one worker thread. */
  heap_mb: number;
  /** Megabytes of memory for one warden process with all it holds. */
  rss_mb: number;
  /** Files, pipes and sockets that one warden process may have open, where the system can limit it. */
  open_files: number;
  /** Time a warden may run a core without pause. */
  cpu_burst_ms: number;
  /** Processor time of one session: its share of its warden's usage. */
  cpu_ms: number;
  /** Sessions of one plugin at once, running and waiting. */
  sessions: number;
  /** Sessions at once of the whole host, or of all machines of a cluster, running and waiting; set for all plugins. */
  host_sessions: number;
  /** Sessions on one worker thread. */
  sessions_per_worker: number;
  /** Worker threads of one plugin. */
  workers: number;
  /** Sessions waiting for a slot of one plugin; one client alone may fill nine tenths of it. */
  queue: number;
  /** Sessions after which a worker is replaced. */
  sessions_before_recycle: number;
  /** Idle time after which the host stops a plugin's workers and warden; they start again on demand. */
  idle_worker_ms: number;
  /** Idempotency keys that the host remembers; set for all plugins, not for one. */
  idempotency_keys: number;
  /** How long an idempotency key is remembered after its session's end; set for all plugins, not for one. */
  idempotency_ms: number;
  /** Child processes of one session. */
  children: number;
  /** Processes of one session: its children with all their descendants, where the system shows them. */
  processes: number;
  /** Programs that one session may start in a minute. */
  child_starts_per_minute: number;
  /**
   * Megabytes of memory of all processes of one session, at most four fifths of the machine's; the host ends a session
   * that exceeds it.
   */
  agent_memory_mb: number;
  /** Megabytes in the home and the temporary files of one session's programs; the host ends a session that exceeds it. */
  agent_disk_mb: number;
  /** Files and folders in the home and the temporary files of one session's programs; as `agent_disk_mb`. */
  agent_files: number;
  /** Open files of each contained process, where the system can limit it. */
  agent_open_files: number;
  /**
   * Megabytes that stay free on each disk that programs fill, at least a hundredth and at most a tenth of it.
   * Below it the host ends the session whose programs wrote the most.
   */
  disk_floor_mb: number;
  /** Open streams of one session: outputs of programs and bodies of responses. */
  streams: number;
  /** Bytes of one file read or written for an adapter. */
  file_bytes: number;
  /** Bytes of all temporary files of one session. */
  temp_bytes: number;
  /** Entries of one folder listing for an adapter. */
  dir_entries: number;
  /** Bytes of one network response. */
  response_bytes: number;
  /** Open WebSockets of one session. */
  sockets: number;
  /** Bytes of one recorded call of a model, with its answer; a larger one leaves the record incomplete. */
  wire_call_bytes: number;
  /** Bytes of all recorded calls of one session; beyond them its record is incomplete. */
  wire_record_bytes: number;
  /** Bytes of one WebSocket message, either way. */
  socket_message_bytes: number;
  /** Bytes of messages of one WebSocket that may wait, for the adapter and for the far end each. */
  socket_waiting_bytes: number;
  /** Bytes of one plugin's key-value store. */
  kv_bytes: number;
  /** Bytes of all files in one plugin's data folder. */
  data_bytes: number;
  /** Files and folders in one plugin's data folder. */
  data_entries: number;
  /** Log records of one session in a second. */
  log_per_second: number;
  /** Bytes of one log record. */
  log_bytes: number;
  /** From launch to a worker that has loaded the adapter. */
  load_timeout_ms: number;
  /** One broker call, except calls that wait for a program or a person. */
  call_timeout_ms: number;
  /**
   * Total deadline of a session. Where the request sets no `timeout_ms`, it stands still while a request waits for a client.
   */
  timeout_ms: number;
  /** Longest silence of a session. */
  idle_timeout_ms: number;
  /** How long an agent's permission request or question waits for a client, at most. */
  answer_timeout_ms: number;
  /** How long a session waits for a further message, at most. */
  keep_ms: number;
  /** Sessions of the host that wait for a message with their agent's program kept; set for all plugins, not for one. */
  kept_sessions: number;
  /** Memory of the programs of those sessions together, where the system tells it; set for all plugins, not for one. */
  kept_mb: number;
  /** How often a worker is asked for a sign of life. */
  heartbeat_interval_ms: number;
  /** How long a worker may leave a heartbeat unanswered. */
  heartbeat_timeout_ms: number;
  /** `shutdown()` of an adapter and the end of its generator. */
  teardown_timeout_ms: number;
  /** From SIGTERM to SIGKILL for an agent's tree. */
  agent_grace_ms: number;
  /** From a polite end to SIGKILL for a warden. */
  warden_grace_ms: number;
  /** Pause before the third start of a worker that crashes; each further one is twice as long. */
  restart_backoff_ms: number;
  /** Longest pause before a worker that crashes is started again. */
  restart_backoff_max_ms: number;
  /** Time without a crash after which the pause is short again. */
  restart_healthy_ms: number;
  /** Crashes within `quarantine_window_ms` that put a plugin in quarantine. */
  quarantine_crashes: number;
  /** Time for which a crash counts towards quarantine. */
  quarantine_window_ms: number;
  /** Bytes of one HTTP request's body, but for an upload of an attachment (20 MiB); this and all `http_` limits are set for all plugins, not for one. */
  http_body_bytes: number;
  /** Bytes of one HTTP request's line and headers. */
  http_header_bytes: number;
  /** Open connections of one HTTP server; at most a quarter of the files that the process may have open. */
  http_connections: number;
  /** Streams of events that are open over HTTP. */
  http_streams: number;
  /** Event streams that one token may have open; the operator's token leaves as many to others. */
  http_streams_per_token: number;
  /** HTTP requests of one token in a second. */
  http_requests_per_second: number;
  /** HTTP requests without a valid token that one address may make in a second. */
  http_refusals_per_second: number;
  /** From the first byte of an HTTP request to the end of its headers. */
  http_header_timeout_ms: number;
  /** From the first byte of an HTTP request to its end. */
  http_request_timeout_ms: number;
  /** Time for which an HTTP client may leave its answer unread. */
  http_stall_timeout_ms: number;
  /** How often an idle event stream sends a heartbeat. */
  http_heartbeat_ms: number;
  /** Bytes of the archive of one installed package; set for all plugins, not for one. */
  package_bytes: number;
  /** Bytes of all files of one package. */
  package_unpacked_bytes: number;
  /** Files and folders of one package. */
  package_files: number;
  /** Ratio of an archive's unpacked bytes to its own bytes. */
  package_ratio: number;
}

/** Defaults for every limit. */
export const defaultLimits: Limits = {
  frame_bytes: 1024 * 1024,
  message_bytes: 16 * 1024 * 1024,
  event_bytes: 1024 * 1024,
  event_values: 20_000,
  host_ms_per_second: 750,
  message_depth: 64,
  prompt_bytes: 4 * 1024 * 1024,
  context_file_bytes: 256 * 1024,
  context_bytes: 1024 * 1024,
  manifest_bytes: 64 * 1024,
  yaml_aliases: 32,
  script_bytes: 16 * 1024 * 1024,
  source_file_bytes: 16 * 1024 * 1024,
  source_bytes: 64 * 1024 * 1024,
  source_depth: 1000,
  bundle_timeout_ms: 60_000,
  bundle_mb: 1024,
  event_credit: 4096,
  events: 10_000_000,
  event_bytes_total: 256 * 1024 * 1024,
  events_per_second: 1_000_000,
  messages_per_second: 100_000,
  open_requests: 32,
  open_request_bytes: 1024 * 1024,
  calls_in_flight: 64,
  protocol_errors: 10,
  timers: 1024,
  heap_mb: 128,
  rss_mb: 1024,
  open_files: 64,
  cpu_burst_ms: 30_000,
  cpu_ms: 1_200_000,
  sessions: 2000,
  host_sessions: 4000,
  sessions_per_worker: 40,
  workers: 4,
  queue: 1000,
  sessions_before_recycle: 5000,
  idle_worker_ms: 300_000,
  idempotency_keys: 10_000,
  idempotency_ms: 86_400_000,
  children: 4,
  processes: 512,
  child_starts_per_minute: 240,
  agent_memory_mb: 8192,
  agent_disk_mb: 10_000,
  agent_files: 1_000_000,
  agent_open_files: 16_384,
  disk_floor_mb: 200,
  streams: 64,
  file_bytes: 16 * 1024 * 1024,
  temp_bytes: 64 * 1024 * 1024,
  dir_entries: 10_000,
  response_bytes: 16 * 1024 * 1024,
  sockets: 8,
  wire_call_bytes: 16 * 1024 * 1024,
  wire_record_bytes: 64 * 1024 * 1024,
  socket_message_bytes: 2 * 1024 * 1024,
  socket_waiting_bytes: 1024 * 1024,
  kv_bytes: 1024 * 1024,
  data_bytes: 256 * 1024 * 1024,
  data_entries: 10_000,
  log_per_second: 200,
  log_bytes: 8192,
  load_timeout_ms: 15_000,
  call_timeout_ms: 60_000,
  timeout_ms: 3_600_000,
  idle_timeout_ms: 600_000,
  answer_timeout_ms: 86_400_000,
  keep_ms: 3_600_000,
  kept_sessions: 8,
  kept_mb: 2048,
  heartbeat_interval_ms: 1000,
  heartbeat_timeout_ms: 5000,
  teardown_timeout_ms: 1000,
  agent_grace_ms: 5000,
  warden_grace_ms: 1000,
  restart_backoff_ms: 250,
  restart_backoff_max_ms: 30_000,
  restart_healthy_ms: 60_000,
  quarantine_crashes: 3,
  quarantine_window_ms: 300_000,
  http_body_bytes: 8 * 1024 * 1024,
  http_header_bytes: 16 * 1024,
  http_connections: 2048,
  http_streams: 1024,
  http_streams_per_token: 16,
  http_requests_per_second: 100,
  http_refusals_per_second: 10,
  http_header_timeout_ms: 10_000,
  http_request_timeout_ms: 30_000,
  http_stall_timeout_ms: 30_000,
  http_heartbeat_ms: 15_000,
  package_bytes: 32 * 1024 * 1024,
  package_unpacked_bytes: 128 * 1024 * 1024,
  package_files: 5000,
  package_ratio: 200,
};
