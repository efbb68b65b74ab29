/** Names of a stream of texts: of each kind and name, the last one counts. */
export interface NoteNames {
  stream: string;
  subjects: string;
  subject(kind: string, name: string): string;
  /** Kind and name of a subject. */
  of(subject: string): [kind: string, name: string];
}

/** Names of everything that one cluster has on its servers. */
export interface Names {
  /** Stream of a machine's events. */
  log(machine: string): string;
  /** Subject of one session's entries in it. */
  session(machine: string, sessionId: string): string;
  /** Subject of entries that belong to no session. */
  marks(machine: string): string;
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
  /** Sessions that wait for a machine. */
  work: NoteNames;
  /** Short facts that all machines have. */
  notes: NoteNames;
  /** How many sessions each machine may have. */
  shares: NoteNames;
  /** How much each machine has used of each access mode. */
  uses: NoteNames;
  /** Bucket of the sessions' patches. */
  patches: string;
  /** Bucket of the images and files that go to other machines. */
  attachments: string;
}

/** Whether a machine can have that name. */
export function isMachineName(name: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,31}$/.test(name);
}

/** Returns the names that begin with a prefix. */
export function namesWith(prefix: string): Names {
  const logs = `${prefix}_log_`;
  return {
    log: (machine) => `${logs}${machine}`,
    session: (machine, sessionId) => `${prefix}.log.${machine}.${sessionId}`,
    marks: (machine) => `${prefix}.log.${machine}._`,
    logSubjects: (machine) => `${prefix}.log.${machine}.>`,
    machineOf: (stream) => {
      const machine = stream.startsWith(logs) ? stream.slice(logs.length) : "";
      // It names a folder of the copies here.
      return isMachineName(machine) ? machine : null;
    },
    presence: (machine) => `${prefix}.presence.${machine}`,
    allPresence: `${prefix}.presence.*`,
    hello: `${prefix}.hello`,
    calls: (machine) => `${prefix}.call.${machine}`,
    mail: `${prefix}_mail`,
    mailTo: (machine) => `${prefix}.mail.${machine}`,
    mailSubjects: `${prefix}.mail.*`,
    work: notesOf(prefix, "work"),
    notes: notesOf(prefix, "note"),
    shares: notesOf(prefix, "share"),
    uses: notesOf(prefix, "use"),
    patches: `${prefix}_patches`,
    attachments: `${prefix}_attachments`,
  };
}

function notesOf(prefix: string, word: string): NoteNames {
  const begin = `${prefix}.${word}.`;
  return {
    stream: `${prefix}_${word}s`,
    subjects: `${begin}*.*`,
    subject: (kind, name) => `${begin}${kind}.${name}`,
    of: (subject) => {
      const [kind = "", name = ""] = subject.slice(begin.length).split(".", 2);
      return [kind, name];
    },
  };
}
