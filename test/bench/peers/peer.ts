/** One way to an agent: ours, or a peer's. */
export interface Peer {
  /** As its figures are named. */
  name: string;
  open(place: PeerPlace): Promise<OpenPeer>;
}

/** A peer that takes sessions now. */
export interface OpenPeer extends AsyncDisposable {
  /** The process whose tree is the peer; null where all there is between sessions is this process. */
  root: number | null;
  /** Runs a session to its end. */
  run(prompt: string): Promise<RunTimes>;
  /** Runs a session whose agent waits, and resolves once it has said so. The session ends with the peer. */
  hold(): Promise<void>;
  /** Runs a session that so many clients read, and returns how many pieces all of them got together. */
  readTogether?(prompt: string, readers: number): Promise<number>;
}

/** When things came, in milliseconds after the start of the session. */
export interface RunTimes {
  /** The agent's first words. */
  first: number;
  total: number;
  /** Pieces of the agent's answer that arrived. */
  pieces: number;
}

/** What every peer is given. */
export interface PeerPlace {
  /** The stub agent's program. */
  agent: string;
  /** A repository to work in. */
  workdir: string;
  /** A folder of the peer's own. */
  state: string;
  /** Where the peers from the registry are. */
  programs: string;
}

/** Counts pieces of the stub's answer as they come, and tells when the first word came. */
export class PieceCount {
  readonly #started = performance.now();
  #first = NaN;
  #pieces = 0;

  /** Takes a message; the whole answer, which some send again at the end, does not count. */
  take(text: string): void {
    if (!/agent_message_chunk|"type":"output"/.test(text)) return;
    let at = text.indexOf("piece ");
    if (at !== -1 && Number.isNaN(this.#first)) this.#first = performance.now() - this.#started;
    for (; at !== -1; at = text.indexOf("piece ", at + 6)) this.#pieces += 1;
  }

  get pieces(): number {
    return this.#pieces;
  }

  end(): RunTimes {
    return { first: this.#first, total: performance.now() - this.#started, pieces: this.#pieces };
  }
}
