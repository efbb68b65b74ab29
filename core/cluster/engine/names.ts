/** Names of everything that one cluster has on its servers. */
export interface Names {
  /** Stream of a machine's events. */
  log(machine: string): string;
  /** Subject of one session's entries in it. */
  session(machine: string, sessionId: string): string;
  /** Subject of entries that belong to no session. */
  marks(machine: string): string;
  /** Subjects of a machine's stream. */
  logSubjects(machine: string): string;
  /** The machine that has a stream of events; null for any other stream. */
  machineOf(stream: string): string | null;
  /** Subject on which a machine says that it is there. */
  presence(machine: string): string;
  allPresence: string;
  /** Subject on which a machine that has just come asks the others to say so at once. */
  hello: string;
  /** Subject of questions to a machine. */
  calls(machine: string): string;
  /** Stream of messages that wait for machines, and the subject of one machine's. */
  mail: string;
  mailTo(machine: string): string;
  mailSubjects: string;
  /** Stream of sessions that wait for a machine. */
  work: string;
  workSubjects: string;
  /** Subject of the sessions that one machine alone may take, or any one. */
  workFor(machine: string | null): string;
  /** Stream of short facts that all machines have, and the subject of one of a kind. */
  notes: string;
  noteSubjects: string;
  note(kind: string, name: string): string;
  /** Kind and name of a fact. */
  noteOf(subject: string): [kind: string, name: string];
  /** Bucket of the sessions' patches. */
  patches: string;
}

/** Returns the names that begin with a prefix. */
export function namesWith(prefix: string): Names {
  const logs = `${prefix}_log_`;
  return {
    log: (machine) => `${logs}${machine}`,
    session: (machine, sessionId) => `${prefix}.log.${machine}.${sessionId}`,
    marks: (machine) => `${prefix}.log.${machine}._`,
    logSubjects: (machine) => `${prefix}.log.${machine}.>`,
    machineOf: (stream) => stream.startsWith(logs) ? stream.slice(logs.length) : null,
    presence: (machine) => `${prefix}.presence.${machine}`,
    allPresence: `${prefix}.presence.*`,
    hello: `${prefix}.hello`,
    calls: (machine) => `${prefix}.call.${machine}`,
    mail: `${prefix}_mail`,
    mailTo: (machine) => `${prefix}.mail.${machine}`,
    mailSubjects: `${prefix}.mail.*`,
    work: `${prefix}_work`,
    workSubjects: `${prefix}.work.*`,
    workFor: (machine) => `${prefix}.work.${machine ?? "_"}`,
    notes: `${prefix}_notes`,
    noteSubjects: `${prefix}.note.*.*`,
    note: (kind, name) => `${prefix}.note.${kind}.${name}`,
    noteOf: (subject) => {
      const [kind = "", name = ""] = subject.slice(`${prefix}.note.`.length).split(".", 2);
      return [kind, name];
    },
    patches: `${prefix}_patches`,
  };
}
